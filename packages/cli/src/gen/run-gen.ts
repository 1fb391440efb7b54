/** `freshet gen`: TypeScript types from the schemas of all buckets of a server. */
import { readFile, writeFile } from 'node:fs/promises'
import { type BucketList, FreshetError, type NamespaceList } from '@freshet/protocol'
import { callServer } from '../places/call-server.js'
import { tellFailure } from '../terminal/tell-failure.js'
import type { GenLine } from './gen-line.js'
import { printTypes, type TypedBucket } from './print-types.js'

export async function runGen({ url, out, isCheck, isJson }: GenLine): Promise<number> {
  try {
    const buckets = await readBuckets(url)
    const text = printTypes(buckets)
    const report = (report: object) => {
      if (isJson) console.log(JSON.stringify({ buckets: buckets.length, ...report }))
      return isJson
    }
    if (out === undefined) {
      if (!report({ text })) process.stdout.write(text)
      return 0
    }
    if (!isCheck) await writeFile(out, text)
    const exitCode = isCheck ? await check(out, text, url) : 0
    report({ out, isUpToDate: exitCode === 0 })
    return exitCode
  } catch (error) {
    if (!(error instanceof FreshetError)) throw error
    tellFailure(error, isJson)
    return 1
  }
}

async function check(path: string, text: string, url: string): Promise<number> {
  const present = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (present === text) return 0
  console.error(
    `${path} is ${present === undefined ? 'missing' : 'out of date'}. To write it: freshet gen --url ${url} --out ${path}`,
  )
  return 1
}

async function readBuckets(url: string): Promise<readonly TypedBucket[]> {
  const { namespaces } = (await callServer<NamespaceList>(url, 'GET', '/db')).body
  const found: TypedBucket[] = []
  for (const namespace of namespaces) {
    const { buckets } = (await callServer<BucketList>(url, 'GET', `/db/${namespace}`)).body
    for (const { bucket, kind, schema } of buckets) {
      found.push({ name: `${namespace}/${bucket}`, kind, ...(schema === undefined ? {} : { schema }) })
    }
  }
  return found
}
