import { readdir } from 'node:fs/promises'
import { FreshetError } from '@freshet/protocol'

/** Throws STORE_UNUSABLE if the folder is not empty. */
export async function refuseFilled(path: string): Promise<void> {
  const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (names.length > 0) throw notEmpty(path)
}

export function notEmpty(name: string): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    `${name} is not empty. Choose an empty store, or a folder that does not exist.`,
  )
}
