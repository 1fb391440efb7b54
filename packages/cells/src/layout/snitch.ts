/**
 * Snitches say where a node is: its data centre and rack. `simple`: all nodes are alike. `addresses`: the second octet of its
 * IPv4 address is the data centre, the third the rack (10.DATACENTRE.RACK.node, as in Cassandra's RackInferringSnitch). `file`:
 * lines `NAME = DATACENTRE:RACK`, and `default = DATACENTRE:RACK` for all others.
 */
import { FreshetError } from '@freshet/protocol'
import type { LayoutNode } from './cells-layout.js'

export interface Whereabouts {
  readonly dataCentre: string
  readonly rack: string
}

export type Snitch = (node: { readonly name: string; readonly address: string }) => Whereabouts

const ALIKE: Whereabouts = { dataCentre: 'here', rack: 'rack' }
const IPV4 = /(?:^|[/@])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?=[:/]|$)/
const LINE = /^\s*([a-z0-9_-]+)\s*=\s*([^\s:]+)\s*:\s*([^\s:]+)\s*$/

export const simpleSnitch: Snitch = () => ALIKE

/** Throws CONFIG_INVALID for an address without four octets. */
export const addressSnitch: Snitch = ({ name, address }) => {
  const [, , dataCentre, rack] = IPV4.exec(address) ?? []
  if (dataCentre !== undefined && rack !== undefined) return { dataCentre, rack }
  throw invalid(`The "addresses" snitch needs an IPv4 address for node ${name}, such as redis://10.1.2.3.`)
}

/** Throws CONFIG_INVALID for a malformed line; the snitch throws it for a node that is not in the file. */
export function fileSnitch(text: string): Snitch {
  const known = new Map<string, Whereabouts>()
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const [, name, dataCentre, rack] = LINE.exec(line) ?? []
    if (name === undefined) throw invalid(`Line ${index + 1} of the snitch file is not NAME = DATACENTRE:RACK: ${line}`)
    known.set(name, { dataCentre: dataCentre!, rack: rack! })
  }
  return ({ name }) => {
    const where = known.get(name) ?? known.get('default')
    if (where === undefined)
      throw invalid(`Node ${name} is not in the snitch file. Add a line for it, or one for default.`)
    return where
  }
}

/** The same rack is nearest, then the same data centre, then any other. */
export function distanceFrom(here: Partial<Whereabouts>): (node: LayoutNode) => number {
  return ({ dataCentre, rack }) => {
    if (here.dataCentre !== undefined && dataCentre !== here.dataCentre) return 2
    return here.rack === undefined || rack === here.rack ? 0 : 1
  }
}

function invalid(message: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', message)
}
