/** The findings as tables, with the thesis's figures beside ours. */
import type { Table } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { FINAL_RATE_EXPECTED } from './filter-insertion.js'
import { hashFunctions } from './hash-functions.js'
import type { Findings } from './hash-quality.js'
import { KEY_KINDS } from './key-kinds.js'
import type { Uniformity } from './uniformity.js'

/** Table 9 of the thesis. Each rate comes from 30 000 probes. */
const THESIS: Readonly<Record<string, { ms: number; positives: number; finalRate: number }>> = {
  MD5: { ms: 247.8, positives: 51, finalRate: 0.0097 },
  'SHA-256': { ms: 265.28, positives: 36, finalRate: 0.0103 },
  'SHA-512': { ms: 232.22, positives: 45, finalRate: 0.0111 },
  'SHA-1': { ms: 257.99, positives: 47, finalRate: 0.0105 },
  CRC32: { ms: 114.4, positives: 36, finalRate: 0.0102 },
  Murmur: { ms: 57.94, positives: 50, finalRate: 0.0104 },
  SimpleLCG: { ms: 26.83, positives: 48, finalRate: 0.0095 },
  Adler32: { ms: 116.73, positives: 27846, finalRate: 0.986 },
}

export function tabulate(findings: Findings): Table[] {
  return [oursTable(findings.ours), figuresTable(findings), insertionTable(findings), rateTable(findings)]
}

function oursTable(ours: readonly Uniformity[]): Table {
  const sizes = [...new Set(ours.map(({ bits }) => bits))]
  const rejections = (kind: string, bits: number) => {
    const found = ours.find(candidate => candidate.kind === kind && candidate.bits === bits)!
    return `${found.rejections}/${found.tests}`
  }
  return {
    title: 'Ours: chi-squared tests that say "not uniform" (5% of them should)',
    columns: ['keys', ...sizes.map(bits => `m = ${bits}`)],
    rows: KEY_KINDS.map(kind => [kind, ...sizes.map(bits => rejections(kind, bits))]),
  }
}

function figuresTable({ figure72, figure74, figure75, figure78 }: Findings): Table {
  const rejections = (tests: readonly Uniformity[], name: string) => {
    const found = tests.find(candidate => candidate.name === name)
    return found && `${found.rejections}/${found.tests}`
  }
  return {
    title: 'All functions: tests that say "not uniform", in the configurations of the figures',
    columns: ['function', '72: random strings', '74: random integers', '75: increasing integers', '78: increasing ids'],
    rows: hashFunctions.map(({ name }) => [
      name,
      ...[figure72, figure74, figure75, figure78].map(tests => rejections(tests, name)),
    ]),
  }
}

function insertionTable({ insertions, speeds }: Findings): Table {
  const murmurMs = THESIS.Murmur!.ms
  return {
    title: `Table 9: 30 000 increasing ids in 300 000 bits; expected final rate ${formatPercent(FINAL_RATE_EXPECTED)}`,
    columns: ['function', 'FPs inserting', 'thesis', 'final rate', 'thesis', 'speed / Murmur', 'thesis'],
    rows: insertions.map(({ name, positivesWhileInserting, finalRate }) => {
      const thesis = THESIS[name]
      return [
        name,
        positivesWhileInserting,
        thesis?.positives,
        formatPercent(finalRate),
        thesis && formatPercent(thesis.finalRate),
        `${speeds.find(speed => speed.name === name)!.timesMurmur.toFixed(2)}×`,
        thesis && `${(murmurMs / thesis.ms).toFixed(2)}×`,
      ]
    }),
  }
}

function rateTable({ rates }: Findings): Table {
  return {
    title: 'Our filter, filled to its planned size: false-positive rate',
    columns: ['target', 'entries', 'probes', 'in theory', 'measured', 'measured / theory'],
    rows: rates.map(({ target, entries, probes, expected, measured }) => [
      formatPercent(target),
      entries,
      probes,
      formatPercent(expected),
      formatPercent(measured),
      (measured / expected).toFixed(3),
    ]),
  }
}
