/** The findings as text. */
import type { Advice } from './advice.js'
import { type Advised, countOf, type Examination } from './examine.js'
import type { Effect } from './probes/finding.js'

const WIDTH = 11
const INDENT = ' '.repeat(WIDTH)
const LINE_LENGTH = 120

const WORDS: Readonly<Record<Effect, string>> = {
  fatal: 'FATAL',
  unsafe: 'UNSAFE',
  slower: 'slower',
  harmless: 'harmless',
  undecided: 'undecided',
  good: 'good',
}

export function reportText(through: string, { caches, findings }: Examination): string {
  const names = caches.map(({ name, by }) => `${name} (${by})`).join(' and ')
  const head = `Between here and the server, at ${through}: ${names || 'no cache that names itself'}`
  const parts = findings.map(found => (found.effect === 'good' ? goodText(found) : badText(found)))
  return [head, '', ...parts, '', conclusion(findings), ''].join('\n')
}

function goodText({ claim }: Advised): string {
  return `${WORDS.good.padEnd(WIDTH)}${claim}`
}

function badText({ effect, claim, saw, means, advice }: Advised): string {
  const lines = [`${WORDS[effect].padEnd(WIDTH)}${effect === 'undecided' ? 'whether' : 'does not hold:'} ${claim}`]
  for (const text of [saw, means ?? '']) if (text !== '') lines.push(...wrapped(text))
  if (effect === 'harmless' && advice.length === 0) lines.push(...wrapped('Nothing needs to change.'))
  return [...lines, ...advice.flatMap(adviceLines), ''].join('\n')
}

function adviceLines({ cache, where, lines }: Advice): readonly string[] {
  const [first = '', ...more] = wrapped(`${cache}: ${where}${lines.length > 0 ? ':' : '.'}`)
  return [first, ...more, ...lines.map(line => `${INDENT}    ${line}`)]
}

function wrapped(text: string): readonly string[] {
  const lines: string[] = []
  let line = INDENT
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > LINE_LENGTH && line !== INDENT) {
      lines.push(line)
      line = INDENT
    }
    line += line === INDENT ? word : ` ${word}`
  }
  return [...lines, line]
}

function conclusion(findings: readonly Advised[]): string {
  const { fatal, unsafe, undecided, good } = countOf(findings)
  const asked = `${good} of ${findings.length} good${undecided === 0 ? '' : `, ${undecided} undecided`}.`
  if (fatal > 0) return `${asked} FATAL: do not serve readers through this address.`
  if (unsafe > 0) return `${asked} Freshet clients are served nothing stale, but close what is UNSAFE.`
  return `${asked} Freshet clients are served nothing stale through this address.`
}
