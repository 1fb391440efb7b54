/** An option of the server: what it means, which values it takes, and its defaults. */
import type { OptionValue, ValueKind } from './value-kinds.js'

/** dev: for trying things out. serve: for production. */
export type Mode = 'dev' | 'serve'

export interface Option<Value extends OptionValue = OptionValue> {
  /** Completes a sentence that begins with the option's name. */
  readonly about: string
  readonly kind: ValueKind<Value>
  readonly defaults: Readonly<Record<Mode, Value>>
  /** Listed in the short help. */
  readonly isCommon?: true
}

export function both<Value>(value: Value): Record<Mode, Value> {
  return { dev: value, serve: value }
}
