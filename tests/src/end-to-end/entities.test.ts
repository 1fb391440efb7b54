/** The entity manager against a real server: what each operation promises, and what other clients see of it. */
import { connect, type Database, FreshetError } from '@freshet/client'
import { createEntityManager, type EntityManager, entity, idOf, Reference, versionOf } from '@freshet/client/entities'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'
import { Coffee, Hooked, Item, Order, Roaster } from './shop-entities.js'

let server: MemoryServer
let db: Database
let other: Database
let em: EntityManager
/** What `db` sent, as `GET /db/shop/coffees/1` or `POST /commit {...}`. */
const sent: string[] = []

beforeAll(async () => {
  server = await startMemoryServer()
  const fetchAndNote: typeof fetch = (input, init) => {
    const { pathname } = new URL(String(input))
    if (pathname !== '/coherence') sent.push(`${init?.method ?? 'GET'} ${pathname}${init?.body ? ` ${init.body}` : ''}`)
    return fetch(input, init)
  }
  db = await connect(server.url, { fetch: fetchAndNote })
  other = await connect(server.url, { read: 'current' })
})

beforeEach(() => {
  em = createEntityManager(db)
  sent.length = 0
  Hooked.onHook = () => {}
})

afterAll(async () => {
  db.close()
  other.close()
  await server.stop()
})

async function storedCoffee(name = 'Arabica'): Promise<string> {
  return (await db.bucket('shop/coffees').create({ name, countryCode: 1, caffeine: true, parent: null })).id
}

/** Changes the object as another client. */
async function changeElsewhere(bucket: string, id: string, fields: object): Promise<void> {
  await other.bucket<object>(bucket).patch(id, fields)
}

function commits(): string[] {
  return sent.filter(each => each.startsWith('POST /commit'))
}

describe('identity', () => {
  test('the same id is the same object, however it is reached, even by concurrent finds', async () => {
    const id = await storedCoffee()
    const [a, b] = await Promise.all([em.find(Coffee, id), em.find(Coffee, id)])
    expect(a).toBeInstanceOf(Coffee)
    expect(b).toBe(a)
    expect(await em.reference(Coffee, id).get()).toBe(a)
    expect((await em.findMany(Coffee, [id, 'nowhere', id])).map(each => each === a)).toEqual([true, false, true])
    expect((await em.list(Coffee, { from: id, limit: 1 }))[0]).toBe(a)
    expect(await createEntityManager(db).find(Coffee, id)).not.toBe(a)
  })

  test('an entity has the methods and getters of its class, and its fields are only the data', async () => {
    const coffee = await em.find(Coffee, await storedCoffee('Robusta'))
    expect(coffee!.label).toBe('Robusta')
    expect(Object.keys(coffee!)).toEqual(['name', 'countryCode', 'caffeine', 'parent'])
    expect(versionOf(coffee!)).toBeGreaterThan(0)
  })

  test('a stored __proto__ is data, and changes no prototype', async () => {
    await fetch(`${server.url}/db/shop/roasters/proto`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"Ann","__proto__":{"name":"Eve"},"label":1}',
    })
    const roaster = (await em.find(Roaster, 'proto'))!
    expect(roaster).toBeInstanceOf(Roaster)
    expect(Object.keys(roaster)).toContain('__proto__')
    await em.flush()
    expect(commits()).toEqual([])
  })

  test('finds that are not awaited are read together, and findMany in one request', async () => {
    const ids = [await storedCoffee(), await storedCoffee(), await storedCoffee()]
    sent.length = 0
    await em.findMany(Coffee, ids)
    expect(sent.length).toBe(1)
    await em.findMany(Coffee, ids)
    expect(sent.length).toBe(1)
  })
})

describe('flush', () => {
  test('is one commit of the changes only, with the versions that were read', async () => {
    const [kept, changed, gone] = await em.findMany(Coffee, [
      await storedCoffee('kept'),
      await storedCoffee('changed'),
      await storedCoffee('gone'),
    ])
    const versions = [versionOf(changed!), versionOf(gone!)]
    changed!.countryCode = 2
    kept!.countryCode = 2
    kept!.countryCode = 1
    const made = new Coffee('made', 3, true, changed!)
    em.persist(made)
    em.remove(gone!)
    await em.flush()
    const [body, ...rest] = commits().map(each => JSON.parse(each.slice('POST /commit '.length)))
    expect(rest).toEqual([])
    const path = (coffee: Coffee) => `/db/shop/coffees/${idOf(coffee)}`
    const goneWrite = body.writes.find((write: { delete?: true }) => write.delete)
    expect(body.reads).toEqual([
      { path: path(changed!), version: versions[0] },
      { path: goneWrite.path, version: versions[1] },
      { path: path(made), version: 0 },
    ])
    expect(body.writes.length).toBe(3)
    expect(await other.bucket('shop/coffees').get(idOf(made))).toEqual({
      name: 'made',
      countryCode: 3,
      caffeine: true,
      parent: idOf(changed!),
    })
    await em.flush()
    expect(commits().length).toBe(1)
  })

  test('a conflicting flush writes nothing, names the entities, changes nothing here, and can be repeated', async () => {
    const [mine, theirs] = await em.findMany(Coffee, [await storedCoffee('mine'), await storedCoffee('theirs')])
    const before = [versionOf(mine!), versionOf(theirs!)]
    await changeElsewhere('shop/coffees', idOf(theirs!), { countryCode: 44 })
    mine!.name = 'mine, changed'
    theirs!.name = 'theirs, changed'
    const made = new Coffee('made', 1, true, null)
    await em.persist(made)
    const error: FreshetError = await em.flush().catch(reason => reason)
    expect(error).toBeInstanceOf(FreshetError)
    expect(error.code).toBe('COMMIT_CONFLICT')
    expect(error.message).toContain(`shop/coffees/${idOf(theirs!)}`)
    expect(error.details.entities).toEqual([theirs])
    expect([versionOf(mine!), versionOf(theirs!), versionOf(made)]).toEqual([...before, 0])
    expect([mine!.name, theirs!.name]).toEqual(['mine, changed', 'theirs, changed'])
    expect(await other.bucket('shop/coffees').get(idOf(mine!))).toMatchObject({ name: 'mine' })

    await em.refresh(theirs!)
    expect(theirs).toMatchObject({ name: 'theirs', countryCode: 44 })
    theirs!.name = 'theirs, changed'
    await em.flush()
    const stored = await other.bucket('shop/coffees').getMany([idOf(mine!), idOf(theirs!), idOf(made)])
    expect(stored).toMatchObject([
      { name: 'mine, changed' },
      { name: 'theirs, changed', countryCode: 44 },
      { name: 'made' },
    ])
  })

  test('a flush that cannot be sent leaves everything to the next', async () => {
    const small = await startMemoryServer()
    const itsDb = await connect(small.url, { retriesMax: 0 })
    const itsEm = createEntityManager(itsDb)
    const roaster = new Roaster({ name: 'Ann' })
    await itsEm.persist(roaster)
    await expect(itsEm.flush({ signal: AbortSignal.abort(new Error('Not now.')) })).rejects.toThrow('Not now.')
    expect(versionOf(roaster)).toBe(0)
    await itsEm.flush()
    expect(await itsDb.bucket('shop/roasters').get(idOf(roaster))).toEqual({ name: 'Ann' })
    itsDb.close()
    await small.stop()
  })

  test('changes made during a flush are written by the next', async () => {
    const coffee = new Coffee('first', 1, true, null)
    await em.persist(coffee)
    const flushed = em.flush()
    while (commits().length === 0) await new Promise(resolve => setTimeout(resolve))
    coffee.name = 'second'
    await flushed
    expect(await other.bucket('shop/coffees').get(idOf(coffee))).toMatchObject({ name: 'first' })
    await em.flush()
    expect(await other.bucket('shop/coffees').get(idOf(coffee))).toMatchObject({ name: 'second' })
  })

  test('a locked entity that another client changed makes the flush fail, although it was not changed here', async () => {
    const [rule, coffee] = await em.findMany(Coffee, [await storedCoffee('rule'), await storedCoffee('coffee')])
    await em.lock(rule!)
    await changeElsewhere('shop/coffees', idOf(rule!), { countryCode: 7 })
    coffee!.name = 'changed'
    const error: FreshetError = await em.flush().catch(reason => reason)
    expect([error.code, error.details.entities]).toEqual(['COMMIT_CONFLICT', [rule]])
    await em.refresh(rule!)
    await em.flush()
    expect(await other.bucket('shop/coffees').get(idOf(coffee!))).toMatchObject({ name: 'changed' })
  })

  test.each([
    ['a Date', new Date(0), 'a Date'],
    ['NaN as a number', Number.NaN, 'NaN'],
    ['a function', () => 1, 'function'],
    ['another entity', new Roaster({ name: 'Ann' }), 'JSON cannot hold'],
    ['undefined in an array', [undefined], '[0]'],
  ])('refuses %s in a field, and says where', async (_, value, said) => {
    const roaster = new Roaster({ name: value as unknown as string })
    await em.persist(roaster)
    await expect(em.flush()).rejects.toThrow(said)
    await expect(em.flush()).rejects.toThrow('shop/roasters, field name')
    expect(commits()).toEqual([])
    Object.assign(roaster, { name: 'Ann' })
    await em.flush()
  })
})

describe('ids', () => {
  test("have the server's form, sort by time, and exist before the flush", async () => {
    const [a, b] = [new Coffee('a', 1, true, null), new Coffee('b', 1, true, null)]
    await em.persist(a)
    await em.persist(b)
    expect(idOf(a)).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/)
    expect(idOf(a) < idOf(b)).toBe(true)
    expect(idOf(a).slice(0, 4)).toBe((await storedCoffee()).slice(0, 4))
  })

  test('a given id that exists is a conflict; after a refresh, the entity is the stored object', async () => {
    await other.bucket('shop/roasters').put('taken', { name: 'Ann' })
    const roaster = new Roaster({ name: 'Ben' })
    await em.persist(roaster, { id: 'taken' })
    const error: FreshetError = await em.flush().catch(reason => reason)
    expect([error.code, error.details.entities]).toEqual(['COMMIT_CONFLICT', [roaster]])
    await em.refresh(roaster)
    expect(roaster.name).toBe('Ann')
  })

  test('an invalid id is refused at once, and so is one that is managed here', async () => {
    await expect(em.persist(new Roaster({ name: 'a' }), { id: 'a/b' })).rejects.toMatchObject({ code: 'NAME_INVALID' })
    await em.persist(new Roaster({ name: 'a' }), { id: 'one' })
    await expect(em.persist(new Roaster({ name: 'b' }), { id: 'one' })).rejects.toThrow(TypeError)
  })

  test('a new entity may replace a removed one, in one flush', async () => {
    const id = await storedCoffee('old')
    const old = (await em.find(Coffee, id))!
    await em.lock(old)
    await em.remove(old)
    const coffee = new Coffee('new', 2, false, null)
    await em.persist(coffee, { id })
    await em.flush()
    expect(await em.find(Coffee, id)).toBe(coffee)
    expect(await other.bucket('shop/coffees').get(id)).toMatchObject({ name: 'new' })
  })
})

describe('references', () => {
  test('load their target on demand, and only once', async () => {
    const parentId = await storedCoffee('parent')
    await other.bucket('shop/coffees').put('child', { name: 'child', parent: parentId })
    const child = (await em.find(Coffee, 'child'))!
    expect(sent).toEqual([expect.any(String), 'GET /db/shop/coffees/child'])
    expect(child.parent!.id).toBe(parentId)
    expect((await child.parent!.get())!.name).toBe('parent')
    expect(sent.length).toBe(3)
    expect(await child.parent!.get()).toBe(await em.find(Coffee, parentId))
    expect(sent.length).toBe(3)
  })

  test('pass through promises unchanged, because they are not thenables', async () => {
    const reference = em.reference(Coffee, 'anything')
    expect(await reference).toBe(reference)
    expect(await Promise.all([reference])).toEqual([reference])
    expect(sent).toEqual([])
    class Waited {}
    Object.defineProperty(Waited.prototype, 'then', { value: () => {} })
    expect(() => entity(Waited, 'shop/waited')).toThrow("a method 'then'")
  })

  test('to nothing return undefined', async () => {
    expect(await em.reference(Coffee, 'nowhere').get()).toBeUndefined()
  })

  test('to one of several classes are stored with the bucket, and found again', async () => {
    const roaster = new Roaster({ name: 'Ann' })
    const order = new Order({ customer: 'Ben', items: [], about: Reference.to(roaster) })
    await em.persist(roaster, { id: 'ann' })
    await em.persist(order)
    await em.flush()
    expect(await other.bucket('shop/orders').get(idOf(order))).toEqual({
      customer: 'Ben',
      items: [],
      about: 'shop/roasters/ann',
    })
    const again = await createEntityManager(db).find(Order, idOf(order))
    expect(await again!.about!.get()).toBeInstanceOf(Roaster)
  })

  test('to a new entity that is not persisted are refused, and nothing is written', async () => {
    await em.persist(new Coffee('child', 1, true, new Coffee('parent', 1, true, null)))
    await expect(em.flush()).rejects.toThrow('shop/coffees, field parent refers to a new entity')
    expect(commits()).toEqual([])
  })

  test('that hold another value are refused on loading, with their place', async () => {
    await other.bucket('shop/coffees').put('broken', { name: 'x', parent: 42 })
    await expect(em.find(Coffee, 'broken')).rejects.toMatchObject({
      code: 'ANSWER_INVALID',
      message: expect.stringContaining('shop/coffees, field parent holds 42'),
    })
  })
})

describe('cascades', () => {
  test('persist follows references, even from a managed entity at the flush', async () => {
    const first = new Item({ count: 1, coffee: null })
    const order = new Order({ customer: 'Ann', items: [Reference.to(first)] })
    await em.persist(order)
    expect(await em.contains(first)).toBe(true)
    const second = new Item({ count: 2, coffee: null })
    order.items.push(Reference.to(second))
    await em.flush()
    expect(commits().length).toBe(1)
    expect(await other.bucket('shop/orders').get(idOf(order))).toMatchObject({ items: [idOf(first), idOf(second)] })
    expect(await other.bucket('shop/items').get(idOf(second))).toEqual({ count: 2, coffee: null })
  })

  test('remove loads the references that it follows, and leaves the others', async () => {
    const coffee = new Coffee('coffee', 1, true, null)
    const item = new Item({ count: 1, coffee: Reference.to(coffee) })
    const order = new Order({ customer: 'Ann', items: [Reference.to(item)] })
    await em.persist(coffee)
    await em.persist(order)
    await em.flush()
    const ids = [order, item, coffee].map(idOf)
    const later = createEntityManager(db)
    await later.remove((await later.find(Order, ids[0]!))!)
    await later.flush()
    expect(await other.bucket('shop/orders').get(ids[0]!)).toBeUndefined()
    expect(await other.bucket('shop/items').get(ids[1]!)).toBeUndefined()
    expect(await other.bucket('shop/coffees').get(ids[2]!)).toBeDefined()
  })
})

describe('hooks', () => {
  test('are called once each, in order, and their changes are written', async () => {
    const called: string[] = []
    Hooked.onHook = (name, hooked) => {
      called.push(`${name} ${hooked.value}`)
      if (name === 'beforeUpdate') hooked.value += 100
    }
    const hooked = new Hooked(1)
    await em.persist(hooked)
    await em.persist(hooked)
    await em.flush()
    hooked.value = 2
    await em.flush()
    await em.flush()
    await em.refresh(hooked)
    await em.remove(hooked)
    await em.remove(hooked)
    await em.flush()
    expect(called).toEqual(['beforePersist 1', 'beforeUpdate 2', 'afterLoad 102', 'beforeRemove 102'])
  })

  test('a hook that throws makes the operation fail', async () => {
    const hooked = new Hooked(1)
    Hooked.onHook = name => {
      throw new Error(`No: ${name}`)
    }
    await expect(em.persist(hooked)).rejects.toThrow('No: beforePersist')
    expect(await em.contains(hooked)).toBe(false)
    Hooked.onHook = () => {}
    await em.persist(hooked)
    await em.flush()
    Hooked.onHook = name => {
      throw new Error(`No: ${name}`)
    }
    await expect(em.remove(hooked)).rejects.toThrow('No: beforeRemove')
    expect(await em.contains(hooked)).toBe(true)
    hooked.value = 2
    await expect(em.flush()).rejects.toThrow('No: beforeUpdate')
    await expect(createEntityManager(db).find(Hooked, idOf(hooked))).rejects.toThrow('No: afterLoad')
    expect(await other.bucket('shop/hooked').get(idOf(hooked))).toEqual({ value: 1 })
  })

  test('an async hook is refused, rather than called without waiting', async () => {
    const Slow = entity<{ value: number }>('shop/slow', { beforePersist: async () => {} })
    await expect(em.persist(new Slow({ value: 1 }))).rejects.toThrow('beforePersist of shop/slow is async')
  })
})

describe('program order', () => {
  test('calls that are not awaited take effect in call order', async () => {
    const coffee = new Coffee('Arabica', 15, true, null)
    const states = [
      em.contains(coffee),
      em.persist(coffee).then(() => idOf(coffee)),
      em.contains(coffee),
      em.flush(),
      em.remove(coffee),
      em.contains(coffee),
      em.persist(coffee),
      em.contains(coffee),
      em.clear(),
      em.contains(coffee),
    ]
    const [before, id, persisted, , , removed, , again, , cleared] = await Promise.all(states)
    expect([before, persisted, removed, again, cleared]).toEqual([false, true, false, true, false])
    expect(await other.bucket('shop/coffees').get(String(id))).toMatchObject({ name: 'Arabica' })
  })

  test('a clear detaches the result of an earlier find; a later find returns another object', async () => {
    const id = await storedCoffee()
    const [before, , after] = await Promise.all([em.find(Coffee, id), em.clear(), em.find(Coffee, id)])
    expect(after).not.toBe(before)
    expect([await em.contains(before!), await em.contains(after!)]).toEqual([false, true])
  })

  test('a failed call does not stop the next', async () => {
    const coffee = new Coffee('Arabica', 1, true, null)
    const failed = em.refresh(coffee)
    const persisted = em.persist(coffee)
    await expect(failed).rejects.toThrow('is new, so it is not managed here')
    await persisted
    expect(await em.contains(coffee)).toBe(true)
  })
})

describe('merge', () => {
  test('brings back changes made while detached, without reading, and writes only if there are any', async () => {
    const coffee = (await em.find(Coffee, await storedCoffee()))!
    await em.detach(coffee)
    sent.length = 0
    const unchanged = await em.merge(coffee)
    await em.flush()
    expect(sent).toEqual([])
    await em.clear()
    coffee.name = 'changed'
    const merged = await em.merge(coffee)
    expect(merged).not.toBe(coffee)
    expect(merged).not.toBe(unchanged)
    expect([await em.contains(merged), await em.contains(coffee)]).toEqual([true, false])
    await em.flush()
    expect(sent.length).toBe(1)
    expect(await other.bucket('shop/coffees').get(idOf(coffee))).toMatchObject({ name: 'changed' })
  })

  test('of an entity that another client changed is a conflict at the flush', async () => {
    const coffee = (await em.find(Coffee, await storedCoffee()))!
    await em.clear()
    await changeElsewhere('shop/coffees', idOf(coffee), { countryCode: 9 })
    coffee.name = 'changed'
    const merged = await em.merge(coffee)
    const error: FreshetError = await em.flush().catch(reason => reason)
    expect([error.code, error.details.entities]).toEqual(['COMMIT_CONFLICT', [merged]])
  })

  test('into a managed entity of another version is a conflict at once', async () => {
    const id = await storedCoffee()
    const coffee = (await em.find(Coffee, id))!
    await em.clear()
    await changeElsewhere('shop/coffees', id, { countryCode: 9 })
    const current = await em.find(Coffee, id, { read: 'current' })
    await expect(em.merge(coffee)).rejects.toMatchObject({ code: 'VERSION_CONFLICT', details: { entities: [current] } })
  })

  test('of a new entity persists a copy', async () => {
    const coffee = new Coffee('Arabica', 1, true, null)
    const merged = await em.merge(coffee)
    expect([await em.contains(merged), await em.contains(coffee)]).toEqual([true, false])
    await em.flush()
    expect(await other.bucket('shop/coffees').get(idOf(merged))).toMatchObject({ name: 'Arabica' })
  })
})

describe('a flush writes only changes', () => {
  async function rawCoffee(id: string, body: string): Promise<string> {
    const path = `${server.url}/db/shop/coffees/${id}`
    await fetch(path, { method: 'PUT', body, headers: { 'content-type': 'application/json' } })
    return path
  }

  test('so a number with more digits than JavaScript holds stays unchanged', async () => {
    const path = await rawCoffee(
      'digits',
      '{"name":"a","countryCode":12345678901234567890,"caffeine":true,"parent":null}',
    )
    const coffee = (await em.find(Coffee, 'digits', { read: 'current' }))!
    coffee.name = 'b'
    await em.flush()
    expect(await (await fetch(`${path}?at=${versionOf(coffee)}`)).text()).toBe(
      '{"name":"b","countryCode":12345678901234567890,"caffeine":true,"parent":null}',
    )
    coffee.countryCode = 2 ** 60
    await expect(em.flush()).rejects.toThrow(TypeError)
  })

  test('except a change that a patch cannot express, a member that becomes null, which writes the whole object', async () => {
    const path = await rawCoffee('nulls', '{"name":"a","countryCode":1,"caffeine":true,"parent":null}')
    const coffee = (await em.find(Coffee, 'nulls', { read: 'current' }))!
    coffee.name = null as unknown as string
    await em.flush()
    expect(await (await fetch(`${path}?at=${versionOf(coffee)}`)).json()).toMatchObject({ name: null, countryCode: 1 })
  })
})
