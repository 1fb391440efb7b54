import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FreshetError, type FreshetErrorCode } from './freshet-error.js'
import { fromProblem, STATUS_OF_CODE, statusOf, toProblem } from './problem.js'

const codes = Object.keys(STATUS_OF_CODE) as FreshetErrorCode[]

test('an error survives the journey: code, text and details', () => {
  const details = fc.dictionary(fc.constantFrom('version', 'conflicts', 'path', 'x'), fc.jsonValue())
  fc.assert(
    fc.property(fc.constantFrom(...codes), fc.string(), details, (code, message, given) => {
      const problem = JSON.parse(JSON.stringify(toProblem(new FreshetError(code, message, { details: given }))))
      expect(problem).toMatchObject({ status: statusOf(code), code, type: `/errors/${code}` })
      const error = fromProblem(problem)
      expect(error).toBeInstanceOf(FreshetError)
      expect([error?.code, error?.message]).toEqual([code, message])
      expect(error?.details).toEqual(JSON.parse(JSON.stringify(given)))
    }),
  )
})

test('details cannot overwrite the members of the problem itself', () => {
  const details = { status: 200, code: 'INTERNAL', type: 'x', detail: 'y', title: 'z' }
  expect(toProblem(new FreshetError('URL_INVALID', 'text', { details }))).toMatchObject({
    status: 400,
    code: 'URL_INVALID',
    detail: 'text',
  })
})

test('any other JSON is not parsed as a problem', () => {
  for (const value of [
    undefined,
    null,
    1,
    'x',
    [],
    {},
    { code: 'NOPE' },
    { code: 'INTERNAL' },
    { type: 'about:blank', code: 'INTERNAL' },
    { type: '/errors/5', code: 5 },
  ]) {
    expect(fromProblem(value)).toBeUndefined()
  }
})

test('every status is an error', () => {
  for (const code of codes) expect(statusOf(code)).toBeGreaterThanOrEqual(400)
  expect(statusOf('TOKEN_INVALID')).toBe(500)
})
