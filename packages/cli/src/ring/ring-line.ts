/** The command line of `freshet ring`. */
import { configInvalid } from '../config/config-invalid.js'
import { type FlagNames, readWordsAndFlags } from '../terminal/read-flags.js'

export interface RingLine {
  readonly action: RingAction
  readonly isJson: boolean
}

export type RingAction = { readonly file: string } & (
  | { readonly kind: 'init' }
  | { readonly kind: 'status'; readonly hasLag: boolean }
  | ({ readonly kind: 'join' } & JoinedNode)
  | { readonly kind: 'leave'; readonly name: string; readonly isLost: boolean }
  | { readonly kind: 'repair'; readonly after?: string }
  | { readonly kind: 'collect' }
)

export interface JoinedNode {
  readonly name: string
  readonly address: string
  readonly rack?: string
  readonly dataCentre?: string
  readonly from?: string
}

const KINDS = ['init', 'status', 'join', 'leave', 'repair', 'collect'] as const
type Kind = (typeof KINDS)[number]

const OWN: Readonly<Record<Kind, FlagNames>> = {
  init: {},
  status: { switches: ['lag'] },
  join: { values: ['rack', 'data-centre', 'from'] },
  leave: { switches: ['lost'] },
  repair: { values: ['after'] },
  collect: {},
}
const FILE_DEFAULT = 'ring.json'

/** Throws CONFIG_INVALID. */
export function readRingLine([first, ...argv]: readonly string[]): RingLine {
  const kind = KINDS.find(each => each === first)
  if (kind === undefined)
    throw configInvalid(`ring needs an action: ${KINDS.join(', ')}. For examples: freshet ring --help`)
  const { values = [], switches = [] } = OWN[kind]
  const names = { values: ['ring', ...values], switches: ['json', ...switches] }
  const { words, given } = readWordsAndFlags(`ring ${kind}`, argv, names)
  const wanted = kind === 'join' ? 2 : kind === 'leave' ? 1 : 0
  if (words.length !== wanted) throw configInvalid(wordsOf(kind))
  const file = given.get('ring') ?? FILE_DEFAULT
  return { action: { file, ...actionOf(kind, words, given) }, isJson: given.has('json') }
}

type WithoutFile<Action> = Action extends unknown ? Omit<Action, 'file'> : never

function actionOf(kind: Kind, words: readonly string[], given: ReadonlyMap<string, string>): WithoutFile<RingAction> {
  const [name, address] = words as [string, string]
  if (kind === 'status') return { kind, hasLag: given.has('lag') }
  if (kind === 'leave') return { kind, name, isLost: given.has('lost') }
  if (kind === 'repair') return { kind, ...optional('after', given.get('after')) }
  if (kind !== 'join') return { kind }
  const where = { ...optional('rack', given.get('rack')), ...optional('dataCentre', given.get('data-centre')) }
  return { kind, name, address, ...where, ...optional('from', given.get('from')) }
}

function optional<Name extends string>(name: Name, value: string | undefined): { readonly [N in Name]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]?: string })
}

function wordsOf(kind: Kind): string {
  if (kind === 'join') return 'ring join takes a name and an address: freshet ring join d redis://10.0.1.4'
  if (kind === 'leave') return 'ring leave takes a name: freshet ring leave d'
  return `ring ${kind} takes no arguments, only options.`
}
