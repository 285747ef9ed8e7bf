namespace Tunnel2.Quickstart;

/// <summary>One visit: sends a request to the public URL, also if its name has no address here, and prints the answer.</summary>
internal static class SingleRequest
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(30);

    /// <summary>Sends the request and prints the answer in the form of HTTP/1.1.</summary>
    /// <returns>Whether the answer came from the service, and is not an error of the tunnel.</returns>
    /// <exception cref="HttpRequestException">The answer was not complete.</exception>
    /// <exception cref="OperationCanceledException">It took longer than 30 s, or <paramref name="stop"/> was cancelled.</exception>
    public static async Task<bool> SendAsync(Uri publicUrl, TextWriter output, CancellationToken stop)
    {
        using var handler = new SocketsHttpHandler { UseProxy = false, UseCookies = false, AllowAutoRedirect = false };
        using var client = new HttpClient(handler) { Timeout = _limit };
        using var request = new HttpRequestMessage(HttpMethod.Get, new UriBuilder(publicUrl) { Host = "127.0.0.1" }.Uri);
        request.Headers.Host = publicUrl.Authority;
        request.Headers.UserAgent.ParseAdd("tunnel2-quickstart");
        request.Headers.Accept.ParseAdd("text/plain, */*;q=0.5");
        using var response = await client.SendAsync(request, stop).ConfigureAwait(false);
        var body = await response.Content.ReadAsStringAsync(stop).ConfigureAwait(false);
        await output.WriteLineAsync($"HTTP/{response.Version} {(int)response.StatusCode} {response.ReasonPhrase}").ConfigureAwait(false);
        foreach (var (name, values) in response.Headers.Concat(response.Content.Headers))
        {
            await output.WriteLineAsync($"{name}: {string.Join(", ", values)}").ConfigureAwait(false);
        }

        await output.WriteLineAsync().ConfigureAwait(false);
        await output.WriteLineAsync(body.TrimEnd('\n')).ConfigureAwait(false);
        return !response.Headers.Contains("Tunnel2-Error");
    }
}
