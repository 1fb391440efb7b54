/** The engines that several servers can share, as tables and charts name them. */
export type EngineName = 'PostgreSQL' | 'MariaDB' | 'Redis' | 'Cassandra' | 'SQLite'
