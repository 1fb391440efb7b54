/** `freshet token`: makes a token that a server with the same configuration accepts, or says whether it would accept one. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { FreshetError } from '@freshet/protocol'
import { readToken, signToken, TokenVerifier } from '@freshet/server'
import { objectionToTokens } from '@freshet/server/configuration'
import { NONE } from '../config/file-kinds.js'
import type { Config } from '../config/options.js'
import { openNamedStore } from '../places/open-store.js'
import type { Place } from '../places/place.js'
import { ServerCalls } from '../transfer/server-calls.js'
import { tokensOf } from './access-setup.js'
import type { TokenLine } from './token-line.js'

/** `config`: the configuration of the server. */
export async function runToken(line: TokenLine, config: Config): Promise<number> {
  return line.inspect === undefined ? make(line, config) : inspect(line.inspect, line.isJson, config)
}

async function make({ claims, expiresMs, keyPath, auditAt, isJson }: TokenLine, config: Config): Promise<number> {
  const { tokenSecret, tokenAudience, tokenIssuer, tokenOidcIssuer } = config
  if (keyPath === undefined && tokenSecret === NONE) {
    throw new FreshetError(
      'CONFIG_INVALID',
      'There is no key to sign with. Set FRESHET_TOKEN_SECRET, or name a private key with --key FILE.',
    )
  }
  const objection = objectionToTokens(tokensOf(config))
  if (keyPath === undefined && objection !== undefined) throw new FreshetError('CONFIG_INVALID', objection)
  const issuer = [tokenOidcIssuer, tokenIssuer].find(name => name !== NONE)
  const keys = keyPath === undefined ? { secret: tokenSecret } : { privateKey: readKey(keyPath) }
  const token = await sign({ claims, audience: tokenAudience, issuer, expiresMs, ...keys })
  if (auditAt !== undefined) await noteInAudit(auditAt, token)
  console.log(isJson ? JSON.stringify({ token, ...readToken(token) }) : token)
  return 0
}

/** Called before the token is handed out. The digest identifies the token but is not one. Throws the server's error. */
async function noteInAudit(place: Place, token: string): Promise<void> {
  const calls =
    'url' in place
      ? ServerCalls.to(place.url)
      : await ServerCalls.over(await openNamedStore(place.store, warning => console.error(warning)))
  try {
    const sha256 = createHash('sha256').update(token).digest('hex')
    await calls.json('/audit', {
      method: 'POST',
      body: JSON.stringify({ token: { ...readToken(token).claims, sha256 } }),
    })
  } finally {
    await calls.close()
  }
}

async function sign(options: Parameters<typeof signToken>[0]): Promise<string> {
  try {
    return await signToken(options)
  } catch (cause) {
    throw new FreshetError('CONFIG_INVALID', `Signing with this key failed: ${(cause as Error).message}`, { cause })
  }
}

async function inspect(token: string, isJson: boolean, config: Config): Promise<number> {
  const verdict = await new TokenVerifier(tokensOf(config)).verify(token).then(
    () => ({ isBelieved: true, reason: 'A server with this configuration accepts it.' }),
    (error: Error) => ({ isBelieved: false, reason: error.message }),
  )
  const content = contentOf(token)
  if (isJson) console.log(JSON.stringify({ ...verdict, ...content }))
  else {
    if (content !== undefined) console.log(JSON.stringify(content, undefined, 2))
    console.log(verdict.reason)
  }
  return verdict.isBelieved ? 0 : 1
}

function contentOf(token: string): ReturnType<typeof readToken> | undefined {
  try {
    return readToken(token)
  } catch {
    // It is not a token, and the verdict says so.
    return undefined
  }
}

function readKey(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new FreshetError('CONFIG_INVALID', `The key ${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}
