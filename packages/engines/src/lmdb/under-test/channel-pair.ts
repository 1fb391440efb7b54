/** A channel within one process, over Node's message ports: messages are copied, as between processes. */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Channel, FromWriter, ToWriter } from '../channel.js'

export function channelPair(): {
  readonly writerEnd: Channel<ToWriter, FromWriter>
  readonly readerEnd: Channel<FromWriter, ToWriter>
} {
  const { port1, port2 } = new MessageChannel()
  return { writerEnd: channelOf(port1), readerEnd: channelOf(port2) }
}

function channelOf<In, Out>(port: MessagePort): Channel<In, Out> {
  return {
    send: message => port.postMessage(message),
    onMessage: listener => {
      port.on('message', listener)
      port.unref()
    },
    onClose: listener => {
      port.once('close', listener)
    },
  }
}
