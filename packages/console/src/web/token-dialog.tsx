/** Asks for a token: because the server has rules, or because the user wants to change it. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Field } from './components/field.js'
import { type Asked, declineToken, setToken, token, tokenAsked } from './server/token.js'

const WHY: Readonly<Record<Asked, string>> = {
  missing: 'This server has access rules, and the console is for administrators.',
  refused: 'The server does not accept this token: it has expired, or is not for this server.',
  'not an admin': 'This token is valid, but the rules do not make its bearer an administrator.',
  wanted: 'The token is sent with every request of this tab, and forgotten when the tab is closed.',
}

export function TokenDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const why = tokenAsked.value
  useEffect(() => {
    if (why === undefined) dialog.current?.close()
    else if (!dialog.current?.open) dialog.current?.showModal()
  }, [why])
  const use = () => {
    setToken(text)
    setText('')
  }
  return (
    <dialog ref={dialog} aria-labelledby="token-title" onCancel={declineToken}>
      <h2 id="token-title">Who are you?</h2>
      <p>{why === undefined ? '' : WHY[why]}</p>
      <Field label="Token" value={text} onInput={setText} placeholder="eyJhbGciOi…" lines={4} onEnter={use} />
      <p class="quiet">
        Create one on the server’s machine: <code>freshet token --sub you --claims '{'{"role":"admin"}'}'</code>
      </p>
      <div class="row end">
        {token.value !== '' && (
          <button type="button" onClick={() => setToken('')}>
            Forget the token
          </button>
        )}
        <button type="button" onClick={declineToken}>
          Cancel
        </button>
        <button type="button" class="main" onClick={use}>
          Use it
        </button>
      </div>
    </dialog>
  )
}
