/** Access: the rules, what a user may do by them, and the audit of changes. */
import type { JSX } from 'preact'
import { Failure } from '../components/notice.js'
import { PageTitle, Panel } from '../components/panel.js'
import { useLoaded } from '../components/use-loaded.js'
import { pretty } from '../components/words.js'
import { call } from '../server/call.js'
import { TryAs } from './access/try-as.js'

interface AuditEntry {
  readonly id: string
  readonly time: string
  readonly who: string
  readonly from: string
  readonly what: string
  readonly bucket?: string
  readonly before: unknown
  readonly after: unknown
}

const AUDIT_SHOWN_MAX = 50

export function AccessPage(): JSX.Element {
  const rules = useLoaded(() => call<{ rules: string | null }>('/access'), 'rules')
  const audit = useLoaded(readAudit, 'audit')
  return (
    <>
      <PageTitle title="Access">Tokens, rules, and who changed what.</PageTitle>
      <Failure of={rules.error ?? audit.error} />
      <TryAs rules={rules.value?.rules ?? ''} />
      <Panel title="Rules in effect">
        {rules.value?.rules === null && (
          <p>
            This server has no access rules: anyone who reaches it may do everything. Start it with{' '}
            <code>--rules FILE</code>.
          </p>
        )}
        {typeof rules.value?.rules === 'string' && <pre class="rules">{rules.value.rules}</pre>}
      </Panel>
      <Panel title="Audit: changes of rules, settings and schemas, statements, restores">
        {audit.value?.length === 0 && <p class="quiet">There are no entries.</p>}
        {audit.value?.map(({ id, time, who, from, what, bucket, before, after }) => (
          <details key={id}>
            <summary>
              {what} {bucket}{' '}
              <span class="quiet">
                by {who.trim() === '' ? 'an unknown caller' : who} from {from === '' ? 'an unknown address' : from},{' '}
                {time}
              </span>
            </summary>
            <div class="two">
              <pre>{typeof before === 'string' ? before : pretty(before)}</pre>
              <pre>{typeof after === 'string' ? after : pretty(after)}</pre>
            </div>
          </details>
        ))}
      </Panel>
    </>
  )
}

/** The newest first. */
async function readAudit(): Promise<readonly AuditEntry[]> {
  let found: readonly AuditEntry[] = []
  for (let after: string | undefined; ; ) {
    const from = after === undefined ? '' : `after=${after}&`
    const page = await call<{ entries: readonly AuditEntry[]; next?: string }>(`/audit?${from}limit=1000`)
    found = [...found, ...page.entries].slice(-AUDIT_SHOWN_MAX)
    if (page.next === undefined) return found.toReversed()
    after = page.next
  }
}
