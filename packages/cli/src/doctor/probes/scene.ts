/** What the probes share: endpoints, objects, and results that are found once. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Position } from '@freshet/protocol'
import type { Endpoint } from './http-probe.js'
import { isOutdated, type ProbeObjects, type Reading, requestIdOf } from './probe-objects.js'

export interface SceneOptions {
  readonly through: Endpoint
  readonly server: Endpoint | undefined
  readonly purgeSecret: string | undefined
  readonly objects: ProbeObjects
  readonly signal: AbortSignal
}

/** The server's answer to a read of a position that is far away. */
export interface Refused extends Reading {
  readonly requestId: string | undefined
}

/** More positions than any writer can reach meanwhile. */
const FAR = 10_000_000
const LOOKS = 12

export class Scene {
  readonly through: Endpoint
  readonly server: Endpoint | undefined
  readonly purgeSecret: string | undefined
  readonly objects: ProbeObjects
  readonly #signal: AbortSignal
  #refused: Promise<Refused> | undefined
  #hasPosition: Promise<boolean> | undefined
  #answersInTurn: Promise<boolean> | undefined

  constructor({ through, server, purgeSecret, objects, signal }: SceneOptions) {
    this.through = through
    this.server = server
    this.purgeSecret = purgeSecret
    this.objects = objects
    this.#signal = signal
  }

  pause(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.#signal })
  }

  /** A probe that catches errors must not catch this one. */
  throwIfStopped(): void {
    this.#signal.throwIfAborted()
  }

  /** A position that will not be reached: the server waits for it as long as it may, and then refuses. */
  async farPosition(): Promise<Position> {
    return (await this.objects.position()) + FAR + Math.floor(Math.random() * FAR)
  }

  /** Reads something at a position that is never reached. */
  async askFar(path: string, at: Position): Promise<Refused> {
    const reading = await this.objects.read({ path }, { at })
    return { ...reading, requestId: requestIdOf(reading) }
  }

  /** How such a request ends, and how long it takes: the longest that this server waits. Requested once. */
  refused(): Promise<Refused> {
    this.#refused ??= this.#askOnce()
    return this.#refused
  }

  async #askOnce(): Promise<Refused> {
    const { path } = await this.objects.create('far')
    return this.askFar(path, await this.farPosition())
  }

  /** Whether a copy that answers one read may be missing for the next: several caches side by side. */
  answersInTurn(): Promise<boolean> {
    this.#answersInTurn ??= this.#lookElsewhere()
    return this.#answersInTurn
  }

  async #lookElsewhere(): Promise<boolean> {
    const object = await this.objects.createOutdated('in-turn')
    if (!object) return false
    for (let i = 0; i < LOOKS; i++) {
      if (!isOutdated(object, await this.objects.read(object, { isFromElsewhere: true }))) return true
    }
    return false
  }

  /** Whether answers still carry the position at which they were read: then clients detect copies that live too long. */
  tellsPosition(): Promise<boolean> {
    this.#hasPosition ??= this.objects
      .create('position')
      .then(object => this.objects.read(object))
      .then(({ position }) => position !== undefined)
    return this.#hasPosition
  }
}
