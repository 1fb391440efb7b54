/** For tests: the key of a server, and tokens signed with it by another library than the server's own code. */
import { SignJWT } from 'jose'

export const TOKENS: { readonly secret: string; readonly audience: string; readonly leewayMs: number } = {
  secret: 'a secret of at least thirty-two bytes',
  audience: 'freshet',
  leewayMs: 0,
}

/** The header of a caller with these claims. */
export async function bearer(claims: Readonly<Record<string, unknown>>): Promise<Record<string, string>> {
  const token = await new SignJWT({ aud: TOKENS.audience, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(TOKENS.secret))
  return { authorization: `Bearer ${token}` }
}
