/** Computes the figures of the bench from the measurements. */
import type { BenchResult } from '../../harness/bench.js'
import type { Table } from '../../harness/experiment.js'
import { type Standing, speedRatio } from '../../harness/side-by-side.js'
import type { StaleStanding } from './stale-reads.js'
import type { VisibleMeasure } from './visible-writes.js'

export const MEASURES = ['read', 'write'] as const
export type PeerMeasure = (typeof MEASURES)[number]

export interface Measured {
  readonly standings: readonly Standing<PeerMeasure>[]
  /** By name of the contender. */
  readonly durability: Readonly<Record<string, string>>
  readonly staleReads: readonly StaleStanding[]
  readonly visible: readonly Standing<VisibleMeasure>[]
  /** By name of the peer, why it was left out. */
  readonly skipped: Readonly<Record<string, string>>
  /** By name of the peer. */
  readonly versions: Readonly<Record<string, string>>
}

/** Which Freshet a peer is compared with: the one over the same kind of store, whose writes survive the same. */
const COMPARED: readonly (readonly [peer: string, freshet: string])[] = [
  ['pocketbase', 'freshet-relaxed'],
  ['pocketbase-full', 'freshet'],
  ['json-server', 'freshet-relaxed'],
  ['d1', 'freshet'],
  ['parse-server', 'freshet-postgres'],
  ['app-redis', 'app-freshet'],
]

export function reportOf(measured: Measured): BenchResult {
  const { standings, staleReads, visible, skipped, versions } = measured
  const pairs = COMPARED.filter(pair => pair.every(name => standings.some(standing => standing.name === name)))
  const ratios = pairs.map(([peer, freshet]) => ({
    ...{ peer, freshet },
    reads: ratio(standings, freshet, peer, 'read'),
    writes: ratio(standings, freshet, peer, 'write'),
  }))
  return {
    summary: {
      ratios: Object.fromEntries(ratios.map(({ peer, ...of }) => [peer, of])),
      ratesPerSecond: Object.fromEntries(standings.map(({ name, medians }) => [name, ratesOf(medians)])),
      staleReads,
      visibleMs: Object.fromEntries(visible.map(({ name, medians }) => [name, milliseconds(medians.visible)])),
      versions,
      skipped,
    },
    tables: [
      ratesTable(measured),
      {
        title: 'Freshet, as a multiple of each peer (above 1: Freshet is faster)',
        columns: ['peer', 'Freshet', 'reads', 'writes'],
        rows: ratios.map(({ peer, freshet, reads, writes }) => [peer, freshet, reads, writes]),
      },
      staleTable(staleReads),
      {
        title: 'Time from a write by SQL until another client shows it, median',
        columns: ['client', 'ms'],
        rows: visible.map(({ name, medians }) => [name, milliseconds(medians.visible)]),
      },
    ],
    notes: [
      ...Object.entries(skipped).map(([name, why]) => `Skipped: ${name}. ${why}`),
      `Versions: ${Object.entries(versions)
        .map(each => each.join(' '))
        .join(', ')}.`,
      'app-freshet and app-redis: the same small application over PostgreSQL, with a Freshet client or with Redis.',
      'older than a write: a write that replaced what the read returned was acknowledged before the read began. The bound is the TTL, or what the session promises: one second, or nothing.',
    ],
  }
}

function ratesTable({ standings, durability }: Measured): Table {
  return {
    title: 'GET and replacement of a 500-byte object, 64 connections, per second',
    columns: ['server', 'reads', 'writes', 'an acknowledged write survives'],
    rows: standings.map(({ name, medians }) => {
      const { reads, writes } = ratesOf(medians)
      return [name, reads, writes, durability[name]]
    }),
  }
}

function staleTable(staleReads: readonly StaleStanding[]): Table {
  return {
    title: 'Reads of the application that were older than an acknowledged write, two processes, under load',
    columns: ['cache', 'reads', 'writes', 'older than a write', 'beyond the bound', 'oldest / ms', 'objects left old'],
    rows: staleReads.map(({ name, reads, writes, stale, beyondBound, oldestMs, leftStale, objects }) => [
      ...[name, reads, writes, stale, beyondBound, oldestMs],
      `${leftStale} of ${objects}`,
    ]),
  }
}

function milliseconds(ns: number): number {
  return Math.round(ns / 1e5) / 10
}

function ratesOf({ read, write }: Readonly<Record<PeerMeasure, number>>) {
  return { reads: Math.round(1e9 / read), writes: Math.round(1e9 / write) }
}

function ratio(
  standings: readonly Standing<PeerMeasure>[],
  freshet: string,
  peer: string,
  measure: PeerMeasure,
): number {
  return Number(speedRatio(standings, freshet, peer, measure).toPrecision(3))
}
