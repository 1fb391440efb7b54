/** Time as a server sees it, for tests that nothing happens. */

/** Resolves when the server has sent this many events since: one each half second, if nothing is written. */
export async function heartbeats(serverUrl: string, count: number): Promise<void> {
  const { body } = await fetch(`${serverUrl}/coherence/events`)
  let seen = 0
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    seen += chunk.match(/^data:/gm)?.length ?? 0
    if (seen >= count) return
  }
}
