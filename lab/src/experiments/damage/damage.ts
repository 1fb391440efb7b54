/**
 * Flips bytes in the file of the embedded store at random, one by one and many together. A later read must be right, or be
 * refused with STORE_DAMAGED. The store must serve nothing that was never written, and leave out nothing that was written.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Experiment, ExperimentContext } from '../../harness/experiment.js'
import { inTemporaryFolder } from '../../harness/temporary-folder.js'

const FULL = { files: 50, flips: 200 }
const QUICK = { files: 3, flips: 40 }
/** Judging a flip takes some 50 ms; a process that takes this long hangs. */
const HANGS_MS = 120_000

const OUTCOMES = ['harmless', 'refused', 'reported', 'wrong', 'crashed'] as const
type Outcome = (typeof OUTCOMES)[number]

interface Judged {
  readonly i: number
  readonly outcome: Outcome
  readonly what?: string
}

export const damage: Experiment = {
  source: 'our own: a disk that flips bits must not give readers wrong data',
  async run(context) {
    const { files, flips } = context.quick ? QUICK : FULL
    const single = new Map<Outcome, number>()
    const together = new Map<Outcome, number>()
    const wrong: string[] = []
    for (let file = 0; file < files; file++) {
      for (const { i, outcome, what } of await judgeFile(context, file, flips)) {
        const counts = i < flips ? single : together
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
        if (outcome === 'wrong' || outcome === 'crashed')
          wrong.push(`file ${file}, flip ${i}: ${what ?? 'the process ended'}`)
      }
      context.progress(file + 1, files, 'files')
    }
    const count = (outcome: Outcome) => single.get(outcome) ?? 0
    const detected = count('refused') + count('reported')
    const served = wrong.length
    return {
      summary: { files, flips: files * flips, harmless: count('harmless'), detected, servedAsData: served },
      tables: [
        {
          title: 'What became of the store',
          columns: ['flips at once', ...OUTCOMES],
          rows: [
            [1, ...OUTCOMES.map(outcome => single.get(outcome) ?? 0)],
            [flips, ...OUTCOMES.map(outcome => together.get(outcome) ?? 0)],
          ],
        },
      ],
      plots: [],
      verdicts: [
        {
          claim: 'every flipped byte is harmless or detected',
          holds: served === 0,
          detail: served === 0 ? `${count('harmless')} harmless, ${detected} detected` : wrong.slice(0, 5).join('; '),
        },
        { claim: 'the flips hit bytes in use', holds: detected > 0, detail: `${detected} of ${files * flips}` },
      ],
    }
  },
}

/** Resumes after the flip at which a process ended. */
function judgeFile({ seed }: ExperimentContext, file: number, flips: number): Promise<readonly Judged[]> {
  return inTemporaryFolder('damage', async path => {
    const judged: Judged[] = []
    while (judged.length < flips + 1) {
      const before = judged.length
      await runProcess([path, `${seed * 1000 + file}`, `${flips}`, `${before}`], each => judged.push(each))
      if (judged.length < flips + 1) judged.push({ i: judged.length, outcome: 'crashed' })
    }
    return judged
  })
}

async function runProcess(args: readonly string[], onJudged: (judged: Judged) => void): Promise<void> {
  const child = fork(new URL('./flip-process.js', import.meta.url), args)
  const arm = () => setTimeout(() => child.kill('SIGKILL'), HANGS_MS)
  let timer = arm()
  child.on('message', message => {
    clearTimeout(timer)
    timer = arm()
    onJudged(message as Judged)
  })
  await once(child, 'exit')
  clearTimeout(timer)
}
