/** For tests: an engine that runs during the tests of a file, and stores over it. */
import type { Store } from '@freshet/core/store'
import { afterAll, beforeAll } from 'vitest'

export interface StoppableEngine {
  stop(): Promise<unknown>
}

/** Returns a function from which tests get the engine. */
export function runningEngine<Engine extends StoppableEngine>(start: () => Promise<Engine>): () => Engine {
  let engine: Engine | undefined
  beforeAll(async () => {
    engine = await start()
  })
  afterAll(() => engine?.stop())
  return () => engine!
}

/** Returns a function that opens another empty store each time. `open` receives a number that no other store has. */
export function storesOver<Engine extends StoppableEngine>(
  start: () => Promise<Engine>,
  open: (engine: Engine, number: number) => Promise<Store>,
): () => Promise<Store> {
  const engine = runningEngine(start)
  let stores = 0
  return () => open(engine(), stores++)
}
