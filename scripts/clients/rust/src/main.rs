//! The client of the community for Rust. Prints one line of JSON for each call.
#![allow(deprecated)]
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{ChatCompletionRequestUserMessageArgs, CreateChatCompletionRequestArgs};
use async_openai::types::images::CreateImageRequestArgs;
use async_openai::types::videos::{CreateVideoRequestArgs, VideoSeconds, VideoSize, VideoStatus};
use async_openai::Client;
use serde_json::json;

fn row(call: &str, refusal: &str, result: Result<(), OpenAIError>) {
    let outcome = match result {
        Ok(()) => "ok".to_string(),
        Err(OpenAIError::ApiError(error)) => format!("{:?}", error),
        Err(error) => error.to_string(),
    };
    println!("{}", json!({ "call": call, "outcome": outcome, "refusal": refusal }));
}

fn connect(key: &str) -> Client<OpenAIConfig> {
    let address = std::env::var("GATE").unwrap();
    Client::with_config(OpenAIConfig::new().with_api_base(address).with_api_key(key))
}

async fn chat(client: &Client<OpenAIConfig>, model: &str) -> Result<(), OpenAIError> {
    let message = ChatCompletionRequestUserMessageArgs::default().content("how is the weather").build()?;
    let request = CreateChatCompletionRequestArgs::default().model(model).messages([message.into()]).build()?;
    client.chat().create(request).await.map(|_| ())
}

async fn video(client: &Client<OpenAIConfig>, model: &str) -> Result<(), OpenAIError> {
    let request = CreateVideoRequestArgs::default()
        .model(model)
        .prompt("a lighthouse [duration=0.3]")
        .seconds(VideoSeconds::Four)
        .size(VideoSize::S1280x720)
        .build()?;
    let mut video = client.videos().create(request).await?;
    while matches!(video.status, VideoStatus::Queued | VideoStatus::InProgress) {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        video = client.videos().retrieve(&video.id).await?;
    }
    client.videos().download_content(&video.id).await.map(|_| ())
}

#[tokio::main]
async fn main() {
    let client = connect(&std::env::var("KEY").unwrap());
    row("models.list", "", client.models().list().await.map(|_| ()));
    row("chat", "", chat(&client, "chat-x").await);
    let request = CreateImageRequestArgs::default()
        .model(async_openai::types::images::ImageModel::Other("chat-x".into()))
        .prompt("a cat")
        .build()
        .unwrap();
    row("images.generate", "", client.images().generate(request).await.map(|_| ()));
    row("videos.createAndPoll", "", video(&client, "demo-video").await);
    row("videos, relayed", "", video(&client, "video-x").await);
    row("unknown model", "model_not_found", chat(&client, "nobody").await);
    row("wrong key", "api_key_invalid", connect("sk-wrong").models().list().await.map(|_| ()));
}
