/** What the examples in the client's doc comments take for granted: a connection, an entity manager, and a little data. */
import { connect, type Database } from '@freshet/client'
import { createEntityManager, type EntityManager, entity, type Reference } from '@freshet/client/entities'

interface ExampleBuckets {
  'shop/products': { name: string; price: number; category?: string }
  'shop/orders': { product: string; pieces: number }
  'shop/coffees': { name: string; price: number; parent: string | null }
  'shop/views': number
  'shop/stock': number
  'shop/images': Uint8Array
  'bank/accounts': { balance: number }
}

class Coffee {
  name: string
  price: number
  parent: Reference<Coffee> | null

  constructor(name: string, price: number, parent: Reference<Coffee> | null) {
    this.name = name
    this.price = price
    this.parent = parent
  }
}
entity(Coffee, 'shop/coffees', { references: { parent: () => Coffee }, cascade: { parent: ['persist'] } })

export interface ExampleScene {
  readonly db: Database<ExampleBuckets>
  readonly em: EntityManager
  readonly Coffee: typeof Coffee
  readonly localStorage: Storage
  readonly console: { log(...values: readonly unknown[]): void }
}

/** `print`: takes what examples log. */
export async function createExampleScene(url: string, print: ExampleScene['console']['log']): Promise<ExampleScene> {
  const db = await connect<ExampleBuckets>(url)
  await Promise.all([db.counter('shop/views').configure(), db.kv('shop/images').configure({})])
  const em = createEntityManager(db)
  await em.persist(new Coffee('Arabica', 3, null), { id: 'arabica' })
  await em.persist(new Coffee('Arabica Finest', 4, em.reference(Coffee, 'arabica')), { id: 'finest' })
  await em.flush()
  await em.clear()
  await db.commit([
    { bucket: 'shop/products', id: 'tea', value: { name: 'Tea', price: 4, category: 'drinks' } },
    { bucket: 'shop/products', id: 'mug', value: { name: 'Mug', price: 9, category: 'kitchen' } },
    { bucket: 'bank/accounts', id: 'ann', value: { balance: 100 } },
    { bucket: 'bank/accounts', id: 'ben', value: { balance: 0 } },
    { bucket: 'shop/views', id: 'tea', add: 3 },
    { bucket: 'shop/views', id: 'mug', add: 1 },
  ])
  return { db, em, Coffee, localStorage: createStorage(), console: { log: print } }
}

/** As the platform's, which Node does not have by default. */
function createStorage(): Storage {
  const entries = new Map<string, string>()
  return {
    get length() {
      return entries.size
    },
    key: index => [...entries.keys()][index] ?? null,
    getItem: name => entries.get(name) ?? null,
    setItem: (name, value) => void entries.set(name, value),
    removeItem: name => void entries.delete(name),
    clear: () => entries.clear(),
  }
}
