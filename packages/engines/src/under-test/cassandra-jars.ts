/**
 * Cassandra's jars: Maven fetches them once, from wherever it is configured to, into a folder that later runs reuse:
 * `freshet/cassandra-VERSION` in the user's cache (XDG_CACHE_HOME, or ~/.cache).
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const CASSANDRA_VERSION = '5.0.5'
const JAVA = ['/usr/bin/java', '/usr/local/bin/java']
const MAVEN = ['/usr/bin/mvn', '/usr/local/bin/mvn']
const FETCH_MS_MAX = 600_000

/** Maven is needed only the first time. */
export function isCassandraInstalled(): boolean {
  return JAVA.some(each => existsSync(each)) && (existsSync(jarsFolder()) || MAVEN.some(each => existsSync(each)))
}

export function javaProgram(): string {
  const found = JAVA.find(each => existsSync(each))
  if (found === undefined) throw new Error(`Java is not installed: ${HOW_TO_INSTALL}`)
  return found
}

const HOW_TO_INSTALL = 'sudo apt-get install openjdk-17-jre-headless maven'

/** The folder of the jars; fetches them if necessary. */
export async function cassandraJars(): Promise<string> {
  const folder = jarsFolder()
  if (existsSync(folder)) return folder
  const maven = MAVEN.find(each => existsSync(each))
  if (maven === undefined) throw new Error(`Maven, which fetches Cassandra, is not installed: ${HOW_TO_INSTALL}`)
  await mkdir(cacheFolder(), { recursive: true })
  const temporary = await mkdtemp(join(cacheFolder(), 'fetching-'))
  try {
    await writeFile(join(temporary, 'pom.xml'), POM)
    const jars = join(temporary, 'jars')
    const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${jars}`]
    await promisify(execFile)(maven, ['-q', '-B', ...goal], { cwd: temporary, timeout: FETCH_MS_MAX })
    // Another process may have been faster.
    await rename(jars, folder).catch(error => {
      if (!existsSync(folder)) throw error
    })
    return folder
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'freshet')
}

function jarsFolder(): string {
  return join(cacheFolder(), `cassandra-${CASSANDRA_VERSION}`)
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>freshet</groupId>
  <artifactId>cassandra-under-test</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>${CASSANDRA_VERSION}</version>
    </dependency>
  </dependencies>
</project>
`
