/** `freshet drop`: deletes a bucket, or a namespace with all its buckets, and waits until everything is gone. */
import { connect } from '@freshet/client'
import { FreshetError } from '@freshet/protocol'
import { authorizationOf } from '../places/call-server.js'
import { tellFailure } from '../terminal/tell-failure.js'
import type { DropLine } from './drop-line.js'

export async function runDrop({ name, url, isJson }: DropLine): Promise<number> {
  try {
    const db = await connect(url, authorizationOf(process.env))
    try {
      const wasThere = await db.drop(name)
      if (isJson) console.log(JSON.stringify({ name, wasThere }))
      else console.log(wasThere ? `${name} is deleted.` : `There was no ${name}; nothing was deleted.`)
      return 0
    } finally {
      db.close()
    }
  } catch (error) {
    if (!(error instanceof FreshetError)) throw error
    tellFailure(error, isJson)
    return 1
  }
}
