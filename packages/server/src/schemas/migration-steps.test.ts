import { describe, expect, it } from 'vitest'
import { takeSteps } from './migration-steps.js'

describe('the steps of a migration', () => {
  it.each([
    ['rename', '{"a":1,"b":2}', [{ rename: '/a', to: '/c' }], '{"b":2,"c":1}'],
    [
      'rename into a nested object',
      '{"zip":"1","home":{}}',
      [{ rename: '/zip', to: '/home/zip' }],
      '{"home":{"zip":"1"}}',
    ],
    ['rename nothing if the field is missing', '{"b":2}', [{ rename: '/a', to: '/c' }], '{"b":2}'],
    ['fill in', '{"b":2}', [{ default: '/a', value: { x: [null] } }], '{"b":2,"a":{"x":[null]}}'],
    ['fill in only missing fields', '{ "a": null }', [{ default: '/a', value: 1 }], '{ "a": null }'],
    ['remove', '{"a":1,"b":{"c":2,"d":3}}', [{ remove: '/a' }, { remove: '/b/c' }], '{"b":{"d":3}}'],
    ['escape', '{"a/b":1,"~":2}', [{ remove: '/a~1b' }, { rename: '/~0', to: '/t' }], '{"t":2}'],
    [
      'keep what they do not change',
      '{"n":12345678901234567890.10,"a":1}',
      [{ remove: '/a' }],
      '{"n":12345678901234567890.10}',
    ],
  ])('%s', (_, before, steps, after) => {
    expect(takeSteps(before, steps)).toBe(after)
  })

  it.each([
    ['an existing name', '{"a":1,"c":2}', /already/],
    ['a place inside something that is not an object', '{"a":1}', /no object can contain/],
  ])('do not rename to %s', (what, before, message) => {
    const to = what.includes('existing') ? '/c' : '/x/y'
    expect(() => takeSteps(before, [{ rename: '/a', to }])).toThrow(message)
  })
})
