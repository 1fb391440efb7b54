/** Declares `freshet ring`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readRingLine } from './ring-line.js'

const HELP = `freshet ring: manages a replicated store over the nodes that a ring file names; docs/guides/ring.md

  freshet ring init                            makes the nodes in ./ring.json a ring
  freshet ring status                          shows nodes, shares and hints; with --lag, what each node has missed
  freshet ring join d redis://10.0.1.4         adds a new, empty node; continues if it was interrupted
  freshet ring leave a                         removes a node, and moves its data to the others
  freshet ring leave a --lost                  removes a node that will not come back, with what it alone had
  freshet ring repair                          makes all replicas alike; --after KEY continues from there
  freshet ring collect                         drops tombstones that all replicas have

  --ring FILE          the ring file (default ring.json)
  --lag                for status: compare all keys
  --rack NAME, --data-centre NAME   for join: where the node is
  --from KEY           for join: where the node's range of ordered keys begins
  --json               print JSON
If the nodes are Freshet servers that want a token, set FRESHET_TOKEN.
Exit codes: 0 success, and for status all nodes are well; 1 failed, or a node is not well; 2 a wrong option; 130 stopped.
`

export const ringCommand: Command = createCommand({
  name: 'ring',
  help: HELP,
  readLine: readRingLine,
  run: async line => (await import('./run-ring.js')).runRing(line),
})
