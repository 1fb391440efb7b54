/**
 * Long work in a page, cut so that clicks and scrolling are answered in between: steps are taken from a generator until
 * a slice of time is used up, the last one is shown, and the browser gets a frame. A tab in the background gets no
 * frames, so the work rests there.
 */
export interface FrameOptions<Step> {
  /** Called once per frame, with the last step taken. */
  readonly show: (step: Step) => void
  readonly signal: AbortSignal
  /** Time for steps in each frame; with 0 there is one step per frame. */
  readonly sliceMs: number
}

/** Says whether the work came to its end; false if it was aborted. */
export async function runInFrames<Step>(work: Iterator<Step>, options: FrameOptions<Step>): Promise<boolean> {
  while (!options.signal.aborted) {
    const { last, ended } = takeSteps(work, options.sliceMs)
    if (last !== undefined) options.show(last)
    if (ended) return true
    await nextFrame()
  }
  return false
}

function takeSteps<Step>(work: Iterator<Step>, sliceMs: number): { last: Step | undefined; ended: boolean } {
  const untilMs = performance.now() + sliceMs
  let last: Step | undefined
  do {
    const { value, done } = work.next()
    if (done) return { last, ended: true }
    last = value
  } while (performance.now() < untilMs)
  return { last, ended: false }
}

function nextFrame(): Promise<number> {
  return new Promise(resolve => requestAnimationFrame(resolve))
}
