import type { Store } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { createMemoryStore } from '../memory/index.js'
import { QuorumNode } from './quorum-node.js'

test('the known reason why a node is silent is repeated, and the repetition does not become the reason', async () => {
  const hanging: Store = Object.assign(createMemoryStore(), { getMany: () => new Promise<never>(() => {}) })
  const node = new QuorumNode({ place: 'redis://a', open: async () => hanging, answerMsMax: 20 })
  const messages: string[] = []
  for (let i = 0; i < 4; i++) {
    await node.read(['a/b/c']).catch((error: Error) => {
      messages.push(error.message)
      node.trouble = error
    })
  }
  const again = 'redis://a does not answer: no answer for 20 ms'
  expect(messages).toEqual(['no answer for 20 ms', again, again, again])
  expect(node.trouble).toMatchObject({ message: 'no answer for 20 ms' })
  await node.close()
})
