/** Transactions of entity managers, and two managers that compete for the same entities. */
import { connect, type Database, FreshetError } from '@freshet/client'
import { createEntityManager, entity, idOf, Reference, versionOf } from '@freshet/client/entities'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'
import { Coffee, Item, Order, Roaster } from './shop-entities.js'

interface Account {
  balance: number
}
const Account = entity<Account>('bank/accounts')

let server: MemoryServer
let databases: Database[]
let db: Database

beforeAll(async () => {
  server = await startMemoryServer()
  databases = await Promise.all(Array.from({ length: 4 }, () => connect(server.url)))
  db = databases[0]!
})

afterAll(async () => {
  for (const each of databases) each.close()
  await server.stop()
})

function current(bucket: string, id: string): Promise<object | undefined> {
  return db.bucket(bucket).get(id, { read: 'current' })
}

describe('a transaction', () => {
  test("commits its manager's changes at the end of the work, and nothing before", async () => {
    await db.commit(['ann', 'ben'].map(id => ({ bucket: 'bank/accounts', id, value: { balance: 100 } })))
    const em = createEntityManager(db)
    const receipt = await em.transaction(async tx => {
      const [ann, ben] = await tx.findMany(Account, ['ann', 'ben'])
      ann!.balance -= 30
      ben!.balance += 30
      await tx.flush()
      expect(await current('bank/accounts', 'ann')).toEqual({ balance: 100 })
      const coffee = new Coffee('for Ben', 1, true, null)
      tx.persist(coffee)
      return coffee
    })
    expect(await current('bank/accounts', 'ann')).toEqual({ balance: 70 })
    expect(await current('bank/accounts', 'ben')).toEqual({ balance: 130 })
    expect(await current('shop/coffees', idOf(receipt))).toMatchObject({ name: 'for Ben' })
  })

  test('leaves its entities detached, with the version it gave them, ready to merge', async () => {
    const em = createEntityManager(db)
    const coffee = await em.transaction(async tx => {
      const made = new Coffee('made', 1, true, null)
      await tx.persist(made)
      return made
    })
    expect(await em.contains(coffee)).toBe(false)
    expect(versionOf(coffee)).toBeGreaterThan(0)
    const merged = await em.merge(coffee)
    await em.flush()
    expect(versionOf(merged)).toBe(versionOf(coffee))
    merged.name = 'merged'
    await em.flush()
    expect(await current('shop/coffees', idOf(coffee))).toMatchObject({ name: 'merged' })
  })

  test('an attempt after a conflict has its own entities, loaded again, and may persist the same new one', async () => {
    await db.bucket('bank/accounts').put('cleo', { balance: 1 })
    const em = createEntityManager(db)
    const seen: Account[] = []
    const order = new Order({ customer: 'Cleo', items: [Reference.to(new Item({ count: 1, coffee: null }))] })
    await em.transaction(async tx => {
      const cleo = (await tx.find(Account, 'cleo'))!
      seen.push(cleo)
      expect(await tx.find(Account, 'cleo')).toBe(cleo)
      await tx.persist(order)
      cleo.balance += 1000
      if (seen.length === 1) await databases[1]!.bucket('bank/accounts').put('cleo', { balance: 5 })
    })
    expect(seen.length).toBe(2)
    expect(seen[0]).not.toBe(seen[1])
    expect(seen.map(({ balance }) => balance)).toEqual([1001, 1005])
    expect(await current('bank/accounts', 'cleo')).toEqual({ balance: 1005 })
    const stored = await createEntityManager(db).find(Order, idOf(order), { read: 'current' })
    expect((await stored!.items[0]!.get())!.count).toBe(1)
  })

  test('a transaction that throws writes nothing, and the entities it persisted are new again', async () => {
    const em = createEntityManager(db)
    const coffee = new Coffee('never', 1, true, null)
    let id = ''
    const failed = em.transaction(async tx => {
      await tx.persist(coffee)
      await tx.flush()
      id = idOf(coffee)
      throw new Error('Changed my mind.')
    })
    await expect(failed).rejects.toThrow('Changed my mind.')
    expect(await current('shop/coffees', id)).toBeUndefined()
    expect(() => idOf(coffee)).toThrow(TypeError)
    await em.persist(coffee)
    await em.flush()
    expect(await current('shop/coffees', idOf(coffee))).toBeDefined()
  })

  test('sees its own flushes, even through other objects, and does not write what it took back', async () => {
    await db.bucket('bank/accounts').put('dan', { balance: 1 })
    await db.bucket('bank/accounts').put('eve', { balance: 1 })
    const em = createEntityManager(db)
    const [dan, made] = await em.transaction(async tx => {
      const first = (await tx.find(Account, 'dan'))!
      first.balance = 2
      await tx.flush()
      await tx.clear()
      const second = (await tx.find(Account, 'dan'))!
      expect([second === first, second.balance]).toEqual([false, 2])
      await tx.refresh(second)
      const eve = (await tx.find(Account, 'eve'))!
      eve.balance = 7
      await tx.remove(second)
      await tx.flush()
      expect(await tx.list(Account, { prefix: 'dan' })).toEqual([])
      eve.balance = 1
      await tx.persist(second)
      second.balance = 3
      const fresh = new Account({ balance: 0 })
      await tx.persist(fresh, { id: 'fresh' })
      return [second, fresh]
    })
    expect(await current('bank/accounts', 'dan')).toEqual({ balance: 3 })
    expect(await current('bank/accounts', 'eve')).toEqual({ balance: 1 })
    expect(versionOf(dan!)).toBe(versionOf(made!))
  })

  test('a change in an embedded value that was not flushed is gone after a clear', async () => {
    await db.bucket('shop/orders').put('embedded', { customer: 'Ann', items: [], note: { text: 'hot', tags: [] } })
    await createEntityManager(db).transaction(async tx => {
      const order = (await tx.find(Order, 'embedded'))!
      order.note!.text = 'cold'
      await tx.clear()
      expect((await tx.find(Order, 'embedded'))!.note!.text).toBe('hot')
    })
    expect(await current('shop/orders', 'embedded')).toMatchObject({ note: { text: 'hot' } })
  })

  test('a given id that exists, and an outdated merged entity, fail at once and not after many attempts', async () => {
    await db.bucket('shop/roasters').put('taken', { name: 'Ann' })
    const em = createEntityManager(db)
    let tries = 0
    const taken = em.transaction(async tx => {
      tries++
      await tx.persist(new Roaster({ name: 'Ben' }), { id: 'taken' })
    })
    await expect(taken).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
    const ann = (await em.find(Roaster, 'taken'))!
    await databases[1]!.bucket('shop/roasters').put('taken', { name: 'Cleo' })
    await db.session.refresh()
    const outdated = em.transaction(async tx => {
      tries++
      Object.assign(await tx.merge(ann), { name: 'Dan' })
    })
    await expect(outdated).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
    expect(tries).toBe(2)
    expect(await current('shop/roasters', 'taken')).toEqual({ name: 'Cleo' })
  })

  test('begins when earlier calls have finished, and may use the outer manager', async () => {
    const em = createEntityManager(db)
    const coffee = new Coffee('outside', 1, true, null)
    em.persist(coffee)
    em.flush()
    const seen = await em.transaction(async tx => {
      const inside = await tx.find(Coffee, idOf(coffee))
      return [inside?.name, inside === coffee, await em.contains(coffee)]
    })
    expect(seen).toEqual(['outside', false, true])
  })

  test('its manager does nothing after its end, and transactions do not nest', async () => {
    const em = createEntityManager(db)
    const inner = await em.transaction(async tx => {
      await expect(tx.transaction(async () => {})).rejects.toThrow('already belongs to a transaction')
      return { tx, reference: tx.reference(Coffee, 'x') }
    })
    const ended = { code: 'TRANSACTION_ENDED' }
    await expect(inner.tx.persist(new Coffee('late', 1, true, null))).rejects.toMatchObject(ended)
    await expect(inner.reference.get()).rejects.toMatchObject(ended)
  })

  test('of many managers at once lose no update', async () => {
    await db.bucket('bank/accounts').put('pot', { balance: 0 })
    await Promise.all(
      databases.map(async each => {
        const em = createEntityManager(each)
        for (let i = 0; i < 15; i++) {
          await em.transaction(
            async tx => {
              const pot = (await tx.find(Account, 'pot'))!
              pot.balance++
            },
            { retriesMax: 500 },
          )
        }
      }),
    )
    expect(await current('bank/accounts', 'pot')).toEqual({ balance: 60 })
  })
})

describe('two managers', () => {
  test('of two managers that changed the same entity, one gets a conflict; after a refresh it can continue', async () => {
    await db.bucket('bank/accounts').put('shared', { balance: 0 })
    const managers = databases.slice(0, 2).map(each => createEntityManager(each))
    const accounts = await Promise.all(managers.map(em => em.find(Account, 'shared', { read: 'current' })))
    for (const account of accounts) account!.balance++
    const results = await Promise.allSettled(managers.map(em => em.flush()))
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const loser = results.findIndex(({ status }) => status === 'rejected')
    await managers[loser]!.refresh(accounts[loser]!)
    accounts[loser]!.balance++
    await managers[loser]!.flush()
    expect(await current('bank/accounts', 'shared')).toEqual({ balance: 2 })
  })

  test('with flushes, conflicts and refreshes at full speed, no update is lost', async () => {
    await db.bucket('bank/accounts').put('busy', { balance: 0 })
    let conflicts = 0
    await Promise.all(
      databases.map(async each => {
        const em = createEntityManager(each)
        const busy = (await em.find(Account, 'busy'))!
        for (let i = 0; i < 15; ) {
          busy.balance++
          try {
            await em.flush()
            i++
          } catch (error) {
            if (!(error instanceof FreshetError) || error.code !== 'COMMIT_CONFLICT') throw error
            expect(error.details.entities).toEqual([busy])
            conflicts++
            await em.refresh(busy)
          }
        }
      }),
    )
    expect(await current('bank/accounts', 'busy')).toEqual({ balance: 60 })
    expect(conflicts).toBeGreaterThan(0)
  })

  test('a removal of what the other changed is a conflict too; persisted and refreshed, the entity can be removed', async () => {
    await db.bucket('bank/accounts').put('doomed', { balance: 0 })
    const em = createEntityManager(db)
    const doomed = (await em.find(Account, 'doomed', { read: 'current' }))!
    await databases[1]!.bucket('bank/accounts').put('doomed', { balance: 1 })
    await em.remove(doomed)
    await expect(em.flush()).rejects.toMatchObject({ code: 'COMMIT_CONFLICT', details: { entities: [doomed] } })
    expect(await em.find(Account, 'doomed')).toBeUndefined()
    await em.persist(doomed)
    await em.refresh(doomed)
    expect(doomed.balance).toBe(1)
    await em.remove(doomed)
    await em.flush()
    expect(await current('bank/accounts', 'doomed')).toBeUndefined()
  })

  test('a refresh of an entity that the other removed says so', async () => {
    await db.bucket('bank/accounts').put('gone', { balance: 0 })
    const em = createEntityManager(db)
    const gone = (await em.find(Account, 'gone', { read: 'current' }))!
    await databases[1]!.bucket('bank/accounts').delete('gone')
    await expect(em.refresh(gone)).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    expect(await em.contains(gone)).toBe(true)
  })
})
