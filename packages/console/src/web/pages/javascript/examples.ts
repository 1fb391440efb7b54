/** First examples with the client. Each runs on an empty server, and again on the data that it left there. */
export interface Example {
  readonly title: string
  readonly code: string
}

export const EXAMPLES: readonly Example[] = [
  {
    title: 'Write and read',
    code: `const products = db.bucket('shop/products')
await products.put('tea', { name: 'Green tea', price: 6 })

const tea = await products.get('tea')
print(tea, 'version', tea.version, 'from', tea.served.from)
return tea.price`,
  },
  {
    title: 'Two writers, one conflict',
    code: `const products = db.bucket('shop/products')
await products.put('mug', { name: 'Blue mug', price: 9 })
const seen = await products.get('mug')

// Another client is faster.
await products.put('mug', { ...seen, price: 10 })

try {
  await products.put('mug', { ...seen, name: 'Red mug' }, { ifVersion: versionOf(seen) })
} catch (error) {
  print(error.code, '-', error.message)
}`,
  },
  {
    title: 'A transaction',
    code: `const accounts = db.bucket('bank/accounts')
await accounts.put('ann', { balance: 100 })
await accounts.put('bob', { balance: 20 })

// Ten transfers at once: each has the same effect as if it ran alone.
const move = amount => db.transaction(async tx => {
  const [ann, bob] = [await tx.bucket('bank/accounts').get('ann'), await tx.bucket('bank/accounts').get('bob')]
  tx.bucket('bank/accounts').put('ann', { balance: ann.balance - amount })
  tx.bucket('bank/accounts').put('bob', { balance: bob.balance + amount })
})
await Promise.all(Array.from({ length: 10 }, () => move(5)))

print(await accounts.getMany(['ann', 'bob']))`,
  },
  {
    title: 'Counters',
    code: `const views = db.counter('shop/views')
await views.configure({})

await Promise.all(Array.from({ length: 20 }, (_, i) => views.add(i % 2 ? 'tea' : 'mug')))
print('sum', await views.sum())
return views.top(5)`,
  },
  {
    title: 'A query, and how it is found',
    code: `const books = db.bucket('library/books')
await books.configure({ indexes: [{ name: 'by-year', fields: ['year'] }] })
await Promise.all([1949, 1965, 1984, 1999].map(year => books.put('b' + year, { title: 'Of ' + year, year })))

const question = { where: { year: { $gte: 1960 } }, sort: 'year' }
for (const book of (await books.query(question)).items) print(book.year, book.title)
return books.explain(question)`,
  },
  {
    title: 'A session that continues elsewhere',
    code: `const products = db.bucket('shop/products')
const { version } = await products.put('kettle', { name: 'Kettle', price: Math.ceil(Math.random() * 99) })

// Another device: it reads nothing older than what was written here.
const elsewhere = await connect(location.origin, { token: db.session.token })
const kettle = await elsewhere.bucket('shop/products').get('kettle')
print(kettle, versionOf(kettle) === version)
elsewhere.close()`,
  },
  {
    title: 'Where reads are answered',
    code: `const reads = []
const reader = await connect(location.origin, { onRead: read => reads.push(read.from + ', ' + read.ms.toFixed(1) + ' ms') })
await reader.bucket('shop/products').put('tea', { name: 'Green tea', price: 6 })
for (let i = 0; i < 5; i++) await reader.bucket('shop/products').get('tea')
reader.close()
return reads`,
  },
]
