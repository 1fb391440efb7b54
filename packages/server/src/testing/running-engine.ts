/** For tests: an engine that runs while the tests of a file do, and stores over it. */
import type { Store } from '@freshet/core/store'
import { afterAll, beforeAll } from 'vitest'

export interface StoppableEngine {
  stop(): Promise<unknown>
}

/** Returns a function that tests get the engine from. */
export function runningEngine<Engine extends StoppableEngine>(start: () => Promise<Engine>): () => Engine {
  let engine: Engine | undefined
  beforeAll(async () => {
    engine = await start()
  })
  afterAll(() => engine?.stop())
  return () => engine!
}

/** Returns a function that opens another empty store each time: `open` is given a number that no other store has. */
export function storesOver<Engine extends StoppableEngine>(
  start: () => Promise<Engine>,
  open: (engine: Engine, number: number) => Promise<Store>,
): () => Promise<Store> {
  const engine = runningEngine(start)
  let stores = 0
  return () => open(engine(), stores++)
}
