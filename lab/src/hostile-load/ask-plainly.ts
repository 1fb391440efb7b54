/** Requests that must be refused even in their plainest form: invalid tokens, and purges from outside. */
import { type Person, TENANTS, type Tenant } from './tenants-server.js'

/** Returns one line for each wrong answer. */
export async function wrongTokenAnswers(url: string, people: readonly Person[]): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const tenant of TENANTS) {
    for (const path of pathsOf(tenant)) {
      for (const { name, token, tenant: own } of people) {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
        const { status } = await fetch(url + path, { headers })
        const isRight = own === tenant ? status === 200 : status === 401 || status === 403
        if (!isRight) wrong.push(`${name}: GET ${path} was answered ${status}`)
      }
    }
  }
  return wrong
}

function pathsOf(tenant: Tenant): readonly string[] {
  return [`/db/${tenant}/notes/1`, `/db/${tenant}/notes/1?at=1`, `/db/${tenant}/notes?embed`]
}

/** The same for purges: no method, and no secret or token of a stranger, may purge. */
export async function acceptedPurges(url: string, people: readonly Person[]): Promise<readonly string[]> {
  const accepted: string[] = []
  const secrets = ['', 'guess', 'change-me', '*']
  const tokens = people.map(({ token }) => token)
  for (const method of ['PURGE', 'BAN', 'REFRESH']) {
    for (const headers of [
      ...secrets.map(secret => ({ 'freshet-purge-secret': secret, 'freshet-ban': '.' })),
      ...tokens.filter(token => token !== undefined).map(token => ({ authorization: `Bearer ${token}` })),
    ]) {
      const { status } = await fetch(`${url}/db/acme/news/1`, { method, headers })
      if (status < 400) accepted.push(`${method} with ${JSON.stringify(headers)} was answered ${status}`)
    }
  }
  return accepted
}
