/**
 * The address of a ring: several stores that act as one. Either its nodes,
 *
 *     ring:redis://10.0.0.1,redis://10.0.0.2,postgres://freshet@10.0.0.3/freshet
 *
 * or a file that names them, `ring:/etc/freshet/ring.json`, which is the better place for passwords:
 *
 *     { "nodes": ["redis://10.0.0.1", "redis://10.0.0.2", { "url": "postgres://freshet:secret@10.0.0.3/freshet" }] }
 */
import { readFileSync } from 'node:fs'
import { FreshetError, repeatedMember } from '@freshet/protocol'
import { guessAddress, isUnknownAddress } from './engine-address.js'

const SCHEME = 'ring:'
/** An address may contain commas: the comma before the next node is followed by a scheme or a path. */
const BETWEEN_NODES = /,(?=[a-z]+:\/\/|sqlite:|\.{0,2}\/)/

export function isRing(text: string): boolean {
  return text.startsWith(SCHEME) && text.length > SCHEME.length
}

/** The addresses of the nodes, or their folders. Throws CONFIG_INVALID. */
export function nodesOfRing(address: string): readonly string[] {
  const text = address.slice(SCHEME.length)
  const nodes = text.endsWith('.json') ? nodesInFile(text) : text.split(BETWEEN_NODES)
  const twice = nodes.find((node, i) => nodes.indexOf(node) !== i)
  if (twice !== undefined) throw invalid('it names a node twice')
  if (nodes.length < 3) throw invalid(`it has ${nodes.length} nodes, and needs at least 3 so that it can lose one`)
  if (nodes.some(node => isRing(node))) throw invalid('a node cannot be a ring')
  const unknown = nodes.find(isUnknownAddress)
  if (unknown !== undefined) throw invalid(`a node is not the address of an engine.${guessAddress(unknown)}`)
  return nodes
}

function nodesInFile(path: string): readonly string[] {
  let [file, text]: [unknown, string] = [undefined, '']
  try {
    text = readFileSync(path, 'utf8')
    file = JSON.parse(text)
  } catch (cause) {
    throw invalid(`${path} cannot be read as JSON`, cause)
  }
  const twice = repeatedMember(text)
  if (twice !== undefined) throw invalid(`${path} has ${JSON.stringify(twice)} twice in one object`)
  const nodes = (file as { readonly nodes?: unknown } | null)?.nodes
  if (!Array.isArray(nodes)) throw invalid(`${path} has no "nodes", a list of addresses`)
  refuseOthers(path, file, 'nodes')
  return nodes.map(node => {
    if (typeof node === 'object') refuseOthers(path, node, 'url')
    const url = typeof node === 'string' ? node : (node as { readonly url?: unknown } | null)?.url
    if (typeof url !== 'string' || url === '') throw invalid(`${path} has a node that is not an address`)
    return url
  })
}

/** A misspelt member must not be ignored. */
function refuseOthers(path: string, value: unknown, known: string): void {
  const other = Object.keys(value ?? {}).find(name => name !== known)
  if (other !== undefined)
    throw invalid(`${path} has an unknown member ${JSON.stringify(other)}; the only member there is "${known}"`)
}

function invalid(why: string, cause?: unknown): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    `The ring cannot be used: ${why.replace(/[.?]?$/, end => end || '.')} Write ring:redis://host1,redis://host2,redis://host3, or ring:/path/ring.json.`,
    { cause },
  )
}
