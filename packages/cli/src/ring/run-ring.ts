/** `freshet ring`: creates a ring, shows it, changes it and repairs it, while coordinators use it. */
import type { Cells, MoveProgress } from '@freshet/cells'
import { withoutPassword } from '../config/store-kind.js'
import { EXIT_FAILED, type LongRun, untilStopped } from '../terminal/until-stopped.js'
import type { RingAction, RingLine } from './ring-line.js'
import { statusText } from './status-text.js'

/** Longer timeouts than for requests from clients: a late answer is better than none. */
const PATIENT = { timeoutMsMin: 5000, timeoutMsMax: 10_000, failuresMax: 2, probeMs: 500, probeMsMax: 5000 }

type CellsModule = typeof import('@freshet/cells')

export async function runRing({ action, isJson }: RingLine): Promise<number> {
  const whenStopped =
    action.kind === 'join' || action.kind === 'leave'
      ? 'Stopped. The ring works in its present state; run the same command to continue from here.'
      : 'Stopped.'
  return untilStopped({ whenStopped, isJson }, async run => {
    const module = await import('@freshet/cells')
    const file = module.readCellsFile(action.file)
    const token = process.env.FRESHET_TOKEN
    const cells = await module.openCells({
      ...module.cellsOptionsOf(file, { token, onWarning: warning => console.error(warning) }),
      creates: action.kind === 'init',
      ...{ hintsEveryMs: 0, health: PATIENT },
    })
    try {
      return await act(action, { cells, module, run, isJson })
    } finally {
      await cells.close()
    }
  })
}

interface Scene {
  readonly cells: Cells
  readonly module: CellsModule
  readonly run: LongRun
  readonly isJson: boolean
}

async function act(action: RingAction, scene: Scene): Promise<number> {
  const { cells, module } = scene
  switch (action.kind) {
    case 'init':
      return tell(scene, { epoch: cells.layout.epoch, nodes: cells.layout.nodes.length }, ({ nodes }) => {
        return `The ring has ${nodes} nodes. To see its state: freshet ring status`
      })
    case 'status':
      return showStatus(scene, action.hasLag)
    case 'join': {
      const { name, address, from } = action
      const where = module.readCellsFile(action.file).snitch({ name, address })
      const node = { name, address, rack: action.rack ?? where.rack, dataCentre: action.dataCentre ?? where.dataCentre }
      const joined = { ...node, ...(from === undefined ? {} : { from }) }
      const report = await module.joinCells(cells, joined, { onProgress: progressOf(scene) })
      return tell(scene, report, ({ moved, dropped }) => {
        return `${name} has joined: ${moved} keys moved to other nodes, ${dropped} old replicas were dropped.`
      })
    }
    case 'leave': {
      const { name, isLost } = action
      const report = await module.leaveCells(cells, name, { isLost, onProgress: progressOf(scene) })
      return tell(scene, report, ({ moved }) => `${name} has left: ${moved} keys moved to other nodes.`)
    }
    case 'repair':
      return runRepair(scene, action.after)
    case 'collect':
      return tell(
        scene,
        await module.collectTombstones(cells, { onProgress: progressOf(scene) }),
        ({ found, collected }) => {
          return `Dropped ${collected} of ${found} tombstones: all replicas had them.`
        },
      )
  }
}

async function showStatus(scene: Scene, lag: boolean): Promise<number> {
  const status = await scene.module.cellsStatus(scene.cells, { lag })
  const nodes = status.nodes.map(node => ({ ...node, address: withoutPassword(node.address) }))
  tell(scene, { ...status, nodes }, statusText)
  return nodes.every(({ state }) => state !== 'down' && state !== 'forgotten') ? 0 : EXIT_FAILED
}

async function runRepair(scene: Scene, after: string | undefined): Promise<number> {
  const { module, cells, run } = scene
  let at = after
  const hints = await cells.deliverHints()
  const report = await module.repair(cells, {
    ...(after === undefined ? {} : { after }),
    signal: run.signal,
    onProgress: ({ key, keys }) => {
      at = key
      run.progress.show({ what: 'comparing', done: keys, at: key })
    },
  })
  run.progress.clear()
  if (!report.isDone) {
    console.error(`Stopped. To continue: freshet ring repair --after ${at}`)
    run.signal.throwIfAborted()
  }
  return tell(scene, { ...report, hints: hints.delivered }, ({ keys, repaired }) => {
    return `${keys} keys compared, ${repaired} outdated replicas repaired, ${hints.delivered} hints delivered.`
  })
}

/** The progress of a move or of a collection. */
type StepProgress = Omit<MoveProgress, 'step' | 'changed'> & { readonly step: string; readonly total?: number }

function progressOf({ run }: Scene) {
  return ({ step, keys, key, total }: StepProgress) => {
    run.progress.show({ what: step, done: keys, total, at: key })
    // It can be stopped between two keys, and continued.
    run.signal.throwIfAborted()
  }
}

function tell<Report>({ run, isJson }: Scene, report: Report, text: (report: Report) => string): number {
  run.progress.clear()
  console.log(isJson ? JSON.stringify(report) : text(report))
  return 0
}
