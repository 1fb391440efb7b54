/** A connection to a port of this machine, with as little work per request as possible, because the server is measured. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

interface Waiting<Reply> {
  resolve(reply: Reply): void
  reject(error: Error): void
}

export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

export interface FoundReply<Reply> {
  readonly reply: Reply | Error
  readonly length: number
}

/** Each request is written at once; replies come in the order of the requests. */
export abstract class PipelinedConnection<Reply> {
  readonly #socket: Socket
  readonly #waiting: Waiting<Reply>[] = []
  #rest = ''

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1').on('data', (text: string) => this.#read(text))
    socket.on('error', error => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('The server closed the connection.')))
  }

  close(): void {
    this.#waiting.length = 0
    this.#socket.destroy()
  }

  /** The first reply in the text, and its length; undefined if it is incomplete. */
  protected abstract replyIn(text: string): FoundReply<Reply> | undefined

  protected request(text: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#socket.write(text)
    })
  }

  #read(text: string): void {
    this.#rest += text
    for (let found = this.replyIn(this.#rest); found; found = this.replyIn(this.#rest)) {
      this.#rest = this.#rest.slice(found.length)
      const waiting = this.#waiting.shift()
      if (found.reply instanceof Error) waiting?.reject(found.reply)
      else waiting?.resolve(found.reply)
    }
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}
