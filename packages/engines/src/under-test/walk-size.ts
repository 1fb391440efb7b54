/**
 * How far the random walks of the conformance suite go over an engine that is waited for. Over memory and LMDB they go
 * further.
 *
 * FRESHET_STEPS raises the number of steps, and of the buckets that are queried with it.
 */
const STEPS = Number(process.env.FRESHET_STEPS ?? 1000)

export const WALK_SIZE: { readonly steps: number; readonly queryBuckets: number } = {
  steps: STEPS,
  queryBuckets: Math.ceil(STEPS / 100),
}
