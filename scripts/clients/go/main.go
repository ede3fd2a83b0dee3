// The official client of OpenAI for Go. Prints one line of JSON for each call.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func row(call string, refusal string, work func() error) {
	outcome := "ok"
	if err := work(); err != nil {
		outcome = err.Error()
		var refused *openai.Error
		if errors.As(err, &refused) {
			outcome = fmt.Sprintf("%d %s", refused.StatusCode, refused.Code)
		}
	}
	line, _ := json.Marshal(map[string]string{"call": call, "outcome": outcome, "refusal": refusal})
	fmt.Println(string(line))
}

func main() {
	ctx := context.Background()
	address := option.WithBaseURL(os.Getenv("GATE"))
	client := openai.NewClient(address, option.WithAPIKey(os.Getenv("KEY")))
	chat := func(model string) (*openai.ChatCompletion, error) {
		return client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
			Model:    model,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("how is the weather")},
		})
	}
	row("models.list", "", func() error { _, err := client.Models.List(ctx); return err })
	row("chat", "", func() error {
		answer, err := chat("chat-x")
		if err == nil && answer.Choices[0].Message.Content == "" {
			return errors.New("no text")
		}
		return err
	})
	row("images.generate", "", func() error {
		images, err := client.Images.Generate(ctx, openai.ImageGenerateParams{Model: "chat-x", Prompt: "a cat"})
		if err == nil && images.Data[0].B64JSON == "" {
			return errors.New("no image")
		}
		return err
	})
	var video *openai.Video
	row("videos.createAndPoll", "", func() (err error) {
		video, err = client.Videos.New(ctx, openai.VideoNewParams{
			Model: "demo-video", Prompt: "a lighthouse [duration=0.3]", Seconds: openai.VideoSeconds4,
		})
		for err == nil && (video.Status == openai.VideoStatusQueued || video.Status == openai.VideoStatusInProgress) {
			time.Sleep(200 * time.Millisecond)
			video, err = client.Videos.Get(ctx, video.ID)
		}
		if err == nil && video.Status != openai.VideoStatusCompleted {
			return fmt.Errorf("unexpected: %s", video.Status)
		}
		return err
	})
	row("videos.downloadContent", "", func() error {
		content, err := client.Videos.DownloadContent(ctx, video.ID, openai.VideoDownloadContentParams{})
		if err != nil {
			return err
		}
		defer content.Body.Close()
		data, err := io.ReadAll(content.Body)
		if err == nil && len(data) == 0 {
			return errors.New("nothing")
		}
		return err
	})
	row("batches", "", func() error {
		line := `{"custom_id":"a","method":"POST","url":"/v1/videos","body":{"model":"demo-video","prompt":"a boat [duration=0.3]","seconds":"4"}}` + "\n"
		file, err := client.Files.New(ctx, openai.FileNewParams{
			File:    openai.File(bytes.NewBufferString(line), "requests.jsonl", "application/jsonl"),
			Purpose: openai.FilePurposeBatch,
		})
		if err != nil {
			return err
		}
		batch, err := client.Batches.New(ctx, openai.BatchNewParams{
			InputFileID: file.ID, Endpoint: "/v1/videos", CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
		})
		for err == nil && batch.CompletedAt == 0 {
			time.Sleep(300 * time.Millisecond)
			batch, err = client.Batches.Get(ctx, batch.ID)
		}
		if err == nil && batch.RequestCounts.Completed != 1 {
			return fmt.Errorf("unexpected: %s", batch.RawJSON())
		}
		return err
	})
	row("unknown model", "404 model_not_found", func() error { _, err := chat("nobody"); return err })
	row("wrong key", "401 api_key_invalid", func() error {
		stranger := openai.NewClient(address, option.WithAPIKey("sk-wrong"))
		_, err := stranger.Models.List(ctx)
		return err
	})
}
