/** Declares `freshet ring`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readRingLine } from './ring-line.js'

const HELP = `freshet ring: a replicated store over nodes that a ring file names; docs/ring.md

  freshet ring init                            makes a ring of the nodes in ./ring.json
  freshet ring status                          nodes, shares, hints; with --lag what each has missed
  freshet ring join d redis://10.0.1.4         a new node, which is empty; goes on if it was cut short
  freshet ring leave a                         its data goes to the others
  freshet ring leave a --lost                  it does not come back, nor what it alone had
  freshet ring repair                          makes all replicas alike; --after KEY goes on from there
  freshet ring collect                         drops tombstones that all replicas have

  --ring FILE (ring.json), --json
  --lag                of status: compares all keys
  --rack NAME, --data-centre NAME, --from KEY   of join: where the node is, and where its stretch of ordered keys begins
A token, for nodes that are Freshet servers, is taken from the variable FRESHET_TOKEN.
Exit codes: 0 done, and of status all nodes are well; 1 failed, or a node is not well; 2 an option is wrong; 130 stopped.
`

export const ringCommand: Command = createCommand({
  name: 'ring',
  help: HELP,
  readLine: readRingLine,
  run: async line => (await import('./run-ring.js')).runRing(line),
})
