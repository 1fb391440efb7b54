/** The frame around every page: the menu, the head with the current user, and the dialog that asks for a token. */
import type { ComponentType, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Failure, Notice } from './components/notice.js'
import { PAGES, type PageEntry } from './pages.js'
import { goTo, linkTo, route } from './route.js'
import { messageOf } from './server/call.js'
import { followFigures } from './server/live-figures.js'
import { loadFacts, serverFacts } from './server/server-facts.js'
import { askForToken, claimsOf, token, tokenAsked } from './server/token.js'
import { nextTheme, theme } from './theme.js'
import { TokenDialog } from './token-dialog.js'

export function App(): JSX.Element {
  const [failure, setFailure] = useState<unknown>()
  const who = token.value
  useEffect(() => {
    void who
    setFailure(undefined)
    loadFacts().then(followFigures, setFailure)
  }, [who])
  useEffect(() => listenToKeys(), [])
  const facts = serverFacts.value
  const shown = PAGES.filter(({ isShown }) => facts === undefined || isShown === undefined || isShown(facts))
  const [asked] = route.value
  const entry = shown.find(({ name }) => name === asked) ?? PAGES[0]!
  const isElsewhere = facts !== undefined && asked !== undefined && entry.name !== asked
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the page
      </button>
      <Head />
      <div class="frame">
        <Menu pages={shown} current={entry.name} />
        <main id="main" tabindex={-1}>
          {tokenAsked.value === undefined && <Failure of={failure} />}
          {isElsewhere && <Notice kind="warning">There is no page “{asked}” on this server.</Notice>}
          {facts !== undefined && <Page key={entry.name} entry={entry} />}
        </main>
      </div>
      <TokenDialog />
    </>
  )
}

function Head(): JSX.Element {
  const who = token.value === '' ? undefined : claimsOf(token.value)
  const facts = serverFacts.value
  return (
    <header class="head">
      <a class="brand" href={linkTo('overview')}>
        Freshet <span class="quiet">console</span>
      </a>
      <span class="quiet grow">{facts === undefined ? '' : `${location.host} · ${facts.version}`}</span>
      {facts !== undefined && !facts.has.access && (
        <a class="badge warning" href={linkTo('access')}>
          no access rules
        </a>
      )}
      <button type="button" onClick={() => askForToken('wanted')}>
        {who === undefined ? (token.value === '' ? 'Token' : 'A token') : `As ${String(who.sub ?? 'unnamed user')}`}
      </button>
      <button type="button" onClick={nextTheme} aria-label={`Colours: ${theme.value}. Change them.`}>
        {{ system: '◐', light: '☀', dark: '☾' }[theme.value]}
      </button>
    </header>
  )
}

function Menu({ pages, current }: { readonly pages: readonly PageEntry[]; readonly current: string }): JSX.Element {
  const menu = useRef<HTMLElement>(null)
  // On a phone the menu is wider than the screen.
  useEffect(() => {
    void current
    menu.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [current])
  return (
    <nav aria-label="Pages" ref={menu}>
      <ul>
        {pages.map(({ name, title, key }) => (
          <li key={name}>
            <a href={linkTo(name)} aria-current={name === current ? 'page' : undefined} data-key={`g ${key}`}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Page({ entry }: { readonly entry: PageEntry }): JSX.Element {
  const [Loaded, setLoaded] = useState<ComponentType | undefined>()
  const [failure, setFailure] = useState<string>()
  const [, ...about] = route.value
  const shown = [...(about.length === 0 ? [] : [about.join('/')]), entry.title, 'Freshet console'].join(' · ')
  useEffect(() => {
    document.title = shown
  }, [shown])
  useEffect(() => {
    entry.load().then(
      component => setLoaded(() => component),
      error => setFailure(`The page could not be loaded: ${messageOf(error)}`),
    )
  }, [entry])
  if (failure !== undefined) return <Failure of={failure} />
  return Loaded === undefined ? <p class="quiet">Loading…</p> : <Loaded />
}

/** `g` and a letter open a page; `/` moves to the filter. Not while the user is typing. */
function listenToKeys(): () => void {
  let isGoing = false
  const onKey = (event: KeyboardEvent) => {
    const { target, key } = event
    const isTyping = target instanceof HTMLElement && /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    if (key === '/') {
      event.preventDefault()
      document.querySelector<HTMLElement>('[data-filter]')?.focus()
    }
    const page = isGoing ? PAGES.find(each => each.key === key) : undefined
    if (page !== undefined) {
      goTo(page.name)
      // A user who opens a page with keys continues in the page, and not through the menu again.
      document.getElementById('main')?.focus()
    }
    isGoing = key === 'g'
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}
