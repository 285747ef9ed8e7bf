using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Administration;

/// <summary>An administrator that calls the API of an entry.</summary>
internal sealed class AdminApi : IDisposable
{
    private readonly HttpClient _client;

    public AdminApi(EntryFixture entry, string? token = null)
    {
        _client = new HttpClient { BaseAddress = new Uri($"http://{entry.Admin}/api/v1/") };
        if (token is not null)
        {
            _client.DefaultRequestHeaders.Add("Authorization", "Bearer " + token);
        }
    }

    /// <summary>Asks, and gives status and JSON; null where the answer has no body.</summary>
    public async Task<(int Status, JsonElement? Json, HttpResponseMessage Response)> SendAsync(
        string method, string path, string? body = null, string mediaType = "application/json", params (string, string)[] fields)
    {
        using var request = new HttpRequestMessage(new HttpMethod(method), new Uri(path, UriKind.Relative));
        foreach (var (name, value) in fields)
        {
            request.Headers.Add(name, value);
        }

        if (body is not null)
        {
            request.Content = new StringContent(body, MediaTypeHeaderValue.Parse(mediaType));
        }

        var response = await _client.SendAsync(request);
        var text = await response.Content.ReadAsStringAsync();
        if (text.Length == 0)
        {
            return ((int)response.StatusCode, null, response);
        }

        using var json = JsonDocument.Parse(text);
        return ((int)response.StatusCode, json.RootElement.Clone(), response);
    }

    /// <summary>The document at a path.</summary>
    public async Task<JsonElement> GetAsync(string path)
    {
        var (status, json, _) = await SendAsync("GET", path);
        Assert.Equal(200, status);
        return json!.Value;
    }

    /// <summary>Is refused, with the problem document of the kind.</summary>
    public async Task<JsonElement> RefusedAsync(
        int status, string code, string method, string path, string? body = null, string mediaType = "application/json",
        params (string, string)[] fields)
    {
        var (actual, json, response) = await SendAsync(method, path, body, mediaType, fields);
        Assert.Equal((status, code), (actual, json!.Value.GetProperty("code").GetString()));
        Assert.Equal("application/problem+json", response.Content.Headers.ContentType!.MediaType);
        Assert.Equal(status, json.Value.GetProperty("status").GetInt32());
        Assert.NotEqual("", json.Value.GetProperty("detail").GetString());
        Assert.Equal("no-store", response.Headers.CacheControl!.ToString());
        return json.Value;
    }

    /// <summary>Makes a token.</summary>
    public async Task<string> CreateTokenAsync(string body)
    {
        var (status, json, response) = await SendAsync("POST", "tokens", body);
        Assert.Equal(((int)HttpStatusCode.Created, "no-store"), (status, response.Headers.CacheControl!.ToString()));
        var name = json!.Value.GetProperty("info").GetProperty("name").GetString();
        Assert.Equal($"/api/v1/tokens/{name}", response.Headers.Location!.ToString());
        return json.Value.GetProperty("token").GetString()!;
    }

    public void Dispose() => _client.Dispose();
}
