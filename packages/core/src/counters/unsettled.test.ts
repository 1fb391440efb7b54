import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DoneOperation } from '../store/index.js'
import { Unsettled } from './unsettled.js'

const STEP = fc.record({ drops: fc.boolean(), sequence: fc.integer({ min: 1, max: 40 }) })

const bySequence = ([a]: readonly [number, unknown], [b]: readonly [number, unknown]) => a - b

test('it holds the same entries as a map', () => {
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 60 }), steps => {
      const unsettled = new Unsettled()
      const model = new Map<number, DoneOperation>()
      for (const [position, { drops, sequence }] of steps.entries()) {
        if (drops) {
          unsettled.dropTo(Math.floor(sequence / 2))
          for (const known of model.keys()) if (known <= Math.floor(sequence / 2)) model.delete(known)
        } else {
          const done = { fingerprint: 'x', position, units: [], note: '' }
          if (model.has(sequence)) continue
          unsettled.add(sequence, done)
          model.set(sequence, done)
        }
        expect([...unsettled].sort(bySequence)).toEqual([...model].sort(bySequence))
        expect(unsettled.size).toBe(model.size)
        expect(unsettled.get(sequence)).toBe(model.get(sequence))
        expect(unsettled.countAfter(sequence)).toBe([...model.keys()].filter(known => known > sequence).length)
      }
    }),
    { numRuns: 500, seed: 6 },
  )
})
