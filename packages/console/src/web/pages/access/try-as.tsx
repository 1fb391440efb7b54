/** What a user may do, without signing in as that user: by the rules in effect, or by other rules to try. */
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Field } from '../../components/field.js'
import { Failure, Notice } from '../../components/notice.js'
import { Panel } from '../../components/panel.js'
import { pretty, timeOfDay } from '../../components/words.js'
import { call } from '../../server/call.js'
import { claimsOf, setToken } from '../../server/token.js'

interface Tried {
  readonly mistakes?: readonly { readonly line: number; readonly column: number; readonly message: string }[]
  readonly isAdmin?: boolean
  readonly isThere?: boolean
  readonly rights?: Readonly<Record<string, boolean>>
}

export function TryAs({ rules }: { readonly rules: string }): JSX.Element {
  const [who, setWho] = useState('{"sub":"ann"}')
  const [path, setPath] = useState('shop/products/tea')
  const [next, setNext] = useState('')
  const [draft, setDraft] = useState<string>()
  const otherRules = useRef<HTMLDetailsElement>(null)
  const [tried, setTried] = useState<Tried>()
  const [failure, setFailure] = useState<unknown>()
  const tokenClaims = who.trim().startsWith('{') ? undefined : claimsOf(who)
  const ask = async () => {
    setFailure(undefined)
    setTried(undefined)
    const claims = who.trim() === '' ? null : (tokenClaims ?? (JSON.parse(who) as unknown))
    const body = {
      ...{ claims, path: path.trim().replace(/^\/(?:db\/)?/, '') },
      ...(next.trim() === '' ? {} : { new: JSON.parse(next) as unknown }),
      ...(otherRules.current?.open === true ? { rules: draft ?? rules } : {}),
    }
    setTried(await call<Tried>('/access/try', { method: 'POST', body }))
  }
  const submit = () => void ask().catch(setFailure)
  return (
    <Panel title="Try as this user">
      <Field
        label="Claims as JSON, or a token; empty for a user without a token"
        value={who}
        onInput={setWho}
        lines={3}
      />
      {tokenClaims !== undefined && <TokenFacts token={who} />}
      <div class="row">
        <Field label="Object or bucket" value={path} onInput={setPath} onEnter={submit} />
        <Field
          label="New value, if they write it"
          value={next}
          onInput={setNext}
          onEnter={submit}
          placeholder={'{"owner":"ann"}'}
        />
        <button type="button" class="main" onClick={submit}>
          What may they do?
        </button>
      </div>
      <details ref={otherRules}>
        <summary>By other rules than those in effect</summary>
        <Field label="Rules to try; they do not take effect" value={draft ?? rules} onInput={setDraft} lines={10} />
      </details>
      <Failure of={failure} />
      {tried?.mistakes !== undefined && (
        <Notice kind="bad">
          {tried.mistakes.map(({ line, column, message }) => (
            <div key={`${line}:${column}`}>
              Line {line}, column {column}: {message}
            </div>
          ))}
        </Notice>
      )}
      {tried?.rights !== undefined && <Rights {...tried} rights={tried.rights} />}
    </Panel>
  )
}

function Rights({
  rights,
  isAdmin,
  isThere,
}: Tried & { readonly rights: Readonly<Record<string, boolean>> }): JSX.Element {
  return (
    <div role="status">
      <ul class="rights">
        {Object.entries(rights).map(([right, isAllowed]) => (
          <li key={right} class={isAllowed ? 'allowed' : 'denied'}>
            <b>{right}</b> {isAllowed ? 'allowed' : 'denied'}
          </li>
        ))}
      </ul>
      <p class="quiet">
        {isAdmin ? 'They are an administrator. ' : ''}
        {isThere ? '' : 'The object does not exist; rules that depend on it allow nothing.'}
      </p>
    </div>
  )
}

function TokenFacts({ token }: { readonly token: string }): JSX.Element {
  const claims = claimsOf(token) ?? {}
  const ends = typeof claims.exp === 'number' ? claims.exp * 1000 : undefined
  return (
    <div>
      <pre>{pretty(claims)}</pre>
      <div class="row">
        {ends !== undefined && (
          <span class={`badge ${ends < Date.now() ? 'error' : 'good'}`}>
            {ends < Date.now() ? 'expired' : 'valid until'} {new Date(ends).toLocaleDateString('en-GB')}{' '}
            {timeOfDay(ends)}
          </span>
        )}
        <button type="button" onClick={() => setToken(token)}>
          Use the console as this user
        </button>
      </div>
    </div>
  )
}
