/**
 * Long work in a page, cut into slices so that the browser handles clicks and scrolling in between. Takes steps from a generator
 * until a slice of time is used up, shows the last step, and gives the browser a frame. A tab in the background gets no frames,
 * so the work pauses there.
 */
export interface FrameOptions<Step> {
  /** Called once per frame, with the last step taken. */
  readonly show: (step: Step) => void
  readonly signal: AbortSignal
  /** Time for steps in each frame; 0 means one step per frame. */
  readonly sliceMs: number
}

/** Returns true if the work reached its end, and false if it was aborted. */
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
