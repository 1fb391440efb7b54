/**
 * PocketBase as a Go program. It differs from the program that its users download in one line: SQLite's `synchronous` is taken
 * from a variable. PocketBase itself sets NORMAL, with which a commit is not on the disk when it is acknowledged.
 */
export const POCKETBASE_MAIN = `package main

import (
	"log"
	"os"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
)

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{
		DBConnect: func(path string) (*dbx.DB, error) {
			return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"+
				"&_pragma=journal_size_limit(200000000)&_pragma=synchronous("+os.Getenv("SYNCHRONOUS")+")"+
				"&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
		},
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}
`
