/** A message: an error, a warning, or a success. Screen readers read it out when it appears. */
import type { ComponentChildren, JSX } from 'preact'
import { messageOf } from '../server/call.js'

export interface NoticeProps {
  readonly kind: 'bad' | 'warning' | 'good' | 'plain'
  readonly children: ComponentChildren
}

export function Notice({ kind, children }: NoticeProps): JSX.Element {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  )
}

/** Shows an error; nothing if there is no error. */
export function Failure({ of: error }: { readonly of: unknown }): JSX.Element | null {
  if (error === undefined || error === null) return null
  const { code } = error as { readonly code?: unknown }
  return (
    <Notice kind="bad">
      {messageOf(error)} {typeof code === 'string' && code !== '' && <code class="quiet">{code}</code>}
    </Notice>
  )
}
