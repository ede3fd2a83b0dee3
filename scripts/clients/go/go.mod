module taskgate.example/client

go 1.24

require github.com/openai/openai-go/v3 v3.99.0
