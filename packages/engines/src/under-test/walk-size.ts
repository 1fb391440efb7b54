/**
 * The length of the random walks of the conformance suite over an engine on a network. Over memory and LMDB they are longer.
 *
 * FRESHET_STEPS raises the number of steps, and with it the number of buckets that are queried.
 */
const STEPS = Number(process.env.FRESHET_STEPS ?? 1000)

export const WALK_SIZE: { readonly steps: number; readonly queryBuckets: number } = {
  steps: STEPS,
  queryBuckets: Math.ceil(STEPS / 100),
}
