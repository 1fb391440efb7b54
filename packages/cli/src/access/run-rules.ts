/**
 * `freshet rules`: shows and changes the access rules in force. Through a running server, this takes the token of an admin. On
 * a store it needs no token: that is the way back in for operators who have locked themselves out.
 */
import { FreshetError, type Version } from '@freshet/protocol'
import { parseRules, type Widening, wideningsOf } from '@freshet/server/configuration'
import { rulesIn } from '../config/file-kinds.js'
import { openNamedStore } from '../places/open-store.js'
import { tellFailure } from '../terminal/tell-failure.js'
import { EXIT_FAILED } from '../terminal/until-stopped.js'
import { ServerCalls } from '../transfer/server-calls.js'
import { type DiffLine, diffLines } from './line-diff.js'
import type { RulesLine } from './rules-line.js'

type RulesText = string | null

interface InForce {
  readonly rules: RulesText
  readonly version: Version
  /** They came with a backup or a copy of the store. */
  readonly isUnconfirmed?: true
}

interface Applied {
  readonly version: Version
  readonly hasChanged: boolean
  readonly wider: readonly Widening[]
}

/** A change of the rules, as recorded in the audit log. */
interface RulesEntry {
  readonly version: Version
  readonly timeMs: number
  readonly who: string
  readonly what: string
  readonly before: RulesText
  readonly after: RulesText
}

const UNCONFIRMED =
  'These rules came with a backup or a copy of the store, and may be older than the rules last in force. To use them: freshet rules confirm.'

export async function runRules(line: RulesLine): Promise<number> {
  try {
    const text = line.action === 'apply' || line.action === 'diff' ? readFile(line.file) : null
    const calls = await callsTo(line)
    try {
      return await act(line, calls, text)
    } finally {
      await calls.close()
    }
  } catch (error) {
    if (!(error instanceof FreshetError) || error.code === 'CONFIG_INVALID') throw error
    tellFailure(error, line.isJson)
    return EXIT_FAILED
  }
}

async function callsTo({ place }: RulesLine): Promise<ServerCalls> {
  if ('url' in place) return ServerCalls.to(place.url)
  return ServerCalls.over(await openNamedStore(place.store, warning => console.error(warning)))
}

async function act(line: RulesLine, calls: ServerCalls, text: RulesText): Promise<number> {
  const inForce = await calls.json<InForce>('/access')
  switch (line.action) {
    case 'show':
      return show(line, inForce)
    case 'history':
      return printHistory(line, await historyOf(calls))
    case 'diff':
      return diff(line, inForce, text)
    case 'confirm':
      return apply(line, calls, inForce, inForce.rules)
    case 'rollback':
      return apply(line, calls, inForce, await textBefore(line, calls, inForce))
    default:
      return apply(line, calls, inForce, text)
  }
}

function show({ isJson }: RulesLine, inForce: InForce): number {
  const { rules, isUnconfirmed } = inForce
  if (isUnconfirmed && !isJson) console.error(UNCONFIRMED)
  if (isJson) console.log(JSON.stringify(inForce))
  else if (rules === null) console.error('There are no access rules: everyone may do everything.')
  else process.stdout.write(rules.endsWith('\n') ? rules : `${rules}\n`)
  return 0
}

function diff({ isJson }: RulesLine, { rules, version }: InForce, text: RulesText): number {
  const lines = diffLines(rules ?? '', text ?? '')
  const wider = wideningsOf(parsedOf(rules), parsedOf(text))
  const isSame = rules === text
  if (isJson) console.log(JSON.stringify({ version, isSame, wider, lines: lines.map(textOfLine) }))
  else {
    for (const each of lines) if (each.sign !== ' ') console.log(textOfLine(each))
    console.log(
      isSame ? `No difference from version ${version}.` : `Compared with version ${version}. ${widerText(wider)}`,
    )
  }
  return isSame ? 0 : EXIT_FAILED
}

async function apply(line: RulesLine, calls: ServerCalls, inForce: InForce, rules: RulesText): Promise<number> {
  const body = { rules, ifVersion: line.ifVersion ?? inForce.version, widen: line.mayWiden }
  const applied = await calls.json<Applied>('/access', { method: 'PUT', body: JSON.stringify(body) })
  const { version, hasChanged, wider } = applied
  if (line.isJson) console.log(JSON.stringify(applied))
  else if (!hasChanged) console.log(`These rules are already in force, as version ${version}.`)
  else if (rules === null && inForce.rules === null) console.log('Confirmed: there are no access rules.')
  else if (rules === null)
    console.log(
      `From version ${version} on, there are no access rules. Servers that were started with --rules allow nothing until you restart them without it.`,
    )
  else console.log(`Version ${version} is in force, on every server over this store. ${widerText(wider)}`)
  return 0
}

/** Oldest first. */
async function historyOf(calls: ServerCalls): Promise<readonly RulesEntry[]> {
  const found: RulesEntry[] = []
  for (let after: string | undefined, isEnd = false; !isEnd; ) {
    const more = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
    const page = await calls.json<{ entries: readonly RulesEntry[]; next?: string }>(`/audit?limit=1000${more}`)
    found.push(...page.entries.filter(({ what }) => what === 'rules'))
    after = page.next
    isEnd = after === undefined
  }
  return found.sort((a, b) => a.version - b.version)
}

function printHistory({ isJson }: RulesLine, history: readonly RulesEntry[]): number {
  for (const { version, timeMs, who, before, after } of history) {
    const time = new Date(timeMs).toISOString()
    const lines = diffLines(before ?? '', after ?? '')
    const [added, removed] = ['+', '-'].map(sign => lines.filter(each => each.sign === sign).length)
    const wider = wideningsOf(parsedOf(before), parsedOf(after))
    if (isJson) console.log(JSON.stringify({ version, time, who, rules: after, added, removed, wider }))
    else {
      const what = after === null ? 'removed' : `+${added} -${removed}`
      console.log(`${version}  ${time}  ${who}  ${what}. ${before === null ? '' : widerText(wider)}`.trimEnd())
    }
  }
  return 0
}

async function textBefore({ version }: RulesLine, calls: ServerCalls, inForce: InForce): Promise<string> {
  const history = await historyOf(calls)
  const wanted = version ?? inForce.version
  const entry = history.find(each => each.version === wanted)
  const text = version === undefined ? entry?.before : entry?.after
  if (typeof text === 'string') return text
  throw new FreshetError(
    'RULES_INVALID',
    entry === undefined
      ? `The history has no rules of version ${wanted}. To list the versions: freshet rules history.`
      : 'There were no rules then. To allow everyone everything: freshet rules remove --widen.',
  )
}

/** Throws RULES_INVALID. */
function readFile(file: string): string {
  const { text, mistakes } = rulesIn(file)
  if (text !== undefined) return text
  throw new FreshetError('RULES_INVALID', mistakes.join('\n'))
}

/** Rules that cannot be parsed allow nothing. */
function parsedOf(text: RulesText) {
  return text === null ? undefined : (parseRules(text).rules ?? parseRules('').rules)
}

function textOfLine({ sign, text }: DiffLine): string {
  return `${sign} ${text}`
}

function widerText(wider: readonly Widening[]): string {
  if (wider.length === 0) return 'Nothing becomes more open.'
  const list = wider.map(({ what, rights }) => (rights === undefined ? what : `${what} (${rights.join(', ')})`))
  return `More open: ${list.join('; ')}.`
}
