/** Processes and servers that are started one after the other, and stopped in the reverse order. */
export interface Stoppable {
  stop(): Promise<unknown>
}

export class StopList {
  readonly #running: Stoppable[] = []

  add<Added extends Stoppable>(running: Added): Added {
    this.#running.push(running)
    return running
  }

  readonly stopAll = async (): Promise<void> => {
    for (const each of this.#running.splice(0).reverse()) await each.stop()
  }
}

/** If `start` fails, what it has added by then is stopped. */
export async function startInOrder<Result>(start: (stops: StopList) => Promise<Result>): Promise<Result> {
  const stops = new StopList()
  try {
    return await start(stops)
  } catch (error) {
    await stops.stopAll()
    throw error
  }
}
