/** What programs in TypeScript do with the client and its entities, in browsers too. */
import {
  type ConnectOptions,
  connect,
  createPessimisticClock,
  type Database,
  type Filter,
  FreshetError,
  idOf,
  type JsonSchema,
  type ObjectBucket,
  type Stored,
  type Transaction,
  versionOf,
  violationsOf,
  within,
} from '@freshet/client'
import {
  createEntityManager,
  type EntityManager,
  entity,
  idOf as idOfEntity,
  Reference,
  versionOf as versionOfEntity,
  type WithReferences,
} from '@freshet/client/entities'

interface Product {
  readonly name: string
  readonly price: number
  readonly tags?: readonly string[]
}

/** As `freshet gen` writes them. */
type Buckets = { 'shop/products': Product }

/** Returns one line that says what was read. */
export async function useClient(url: string): Promise<string> {
  return [await useObjects(url), await useBytesAndCounters(url), await useEntities(url)].join(', ')
}

async function useObjects(url: string): Promise<string> {
  const options: ConnectOptions = {
    staleness: 500,
    clock: createPessimisticClock(),
    onRead: ({ from, ms }) => [from, ms],
  }
  const db: Database<Buckets> = await connect<Buckets>(url, options)
  const products: ObjectBucket<Product> = db.bucket('shop/products')
  const schema: JsonSchema = { type: 'object', required: ['name'] }
  await products.configure({ indexes: [{ name: 'by-price', fields: ['price'] }], schema })
  const refused = await products.put('0', {} as Product).catch((error: unknown) => violationsOf(error).length)
  await products.put('tea', { name: 'Tea', price: 5 })
  const tea: Stored<Product> | undefined = await products.get('tea', { read: within(500) })
  if (tea === undefined) throw new Error('The object is not there.')
  await products.patch(idOf(tea), { price: 6 }, { ifVersion: versionOf(tea) })
  const conflict = await products
    .put('tea', { ...tea, price: 7 }, { ifVersion: tea.version })
    .catch((error: unknown) => (error instanceof FreshetError ? error.code : error))
  const where: Filter<Product> = { price: { $gte: 6 } }
  const { items } = await products.query({ where, sort: ['-price'], limit: 10 })
  await db.transaction(async (tx: Transaction) => {
    const read = await tx.bucket<Product>('shop/products').get('tea')
    if (read) tx.bucket<Product>('shop/products').put('tea', { ...read, price: read.price + 1 })
  })
  let listed = 0
  for await (const each of products.list()) listed += each.price
  await db.commit([{ bucket: 'shop/products', id: 'tea', delete: true }])
  db.close()
  return `${refused} ${conflict} ${items.map(({ name }) => name)} ${listed}`
}

async function useBytesAndCounters(url: string): Promise<string> {
  const db = await connect(url)
  const images = db.kv('shop/images')
  await images.configure({})
  await images.put('tea', new Uint8Array([1, 2, 3]), { contentType: 'image/png' })
  const image = await images.get('tea')
  const blob = new Blob(image === undefined ? [] : [image.bytes], { type: 'image/png' })
  const views = db.counter('shop/views')
  await views.configure({ min: 0 })
  const { value } = await views.add('tea', 2)
  db.close()
  return `${blob.size} ${value}`
}

interface RoasterFields {
  name: string
}
const Roaster = entity<RoasterFields>('shop/roasters')

type CoffeeFields = WithReferences<{ name: string; roaster: string | null }, { roaster: RoasterFields }>

class Coffee implements CoffeeFields {
  constructor(
    public name: string,
    public roaster: Reference<RoasterFields> | null,
  ) {}
}
entity<CoffeeFields, typeof Coffee>(Coffee, 'shop/coffees', {
  references: { roaster: () => Roaster },
  cascade: { roaster: ['persist'] },
})

async function useEntities(url: string): Promise<string> {
  const db = await connect(url)
  const em: EntityManager = createEntityManager(db)
  const coffee = new Coffee('Finest', Reference.to(new Roaster({ name: 'Ann' })))
  await em.persist(coffee)
  await em.flush()
  await em.transaction(async em => {
    const mine = await em.find(Coffee, idOfEntity(coffee))
    if (mine) mine.name = 'Selection'
  })
  await em.refresh(coffee)
  const roaster = await coffee.roaster?.get()
  db.close()
  return `${coffee.name} ${roaster?.name} ${typeof versionOfEntity(coffee)}`
}
