using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.Administration;

/// <summary>Calls the API of a server's admin listener. For one command, by one caller at a time.</summary>
internal sealed class AdminClient : IDisposable
{
    private const string Root = "api/v1/";
    private const int LongestAnswer = 16 * 1024 * 1024;
    private const int Deepest = 16;
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(20);

    private readonly AdminTarget _target;
    private readonly HttpClient _client;

    public AdminClient(AdminTarget target)
    {
        _target = target;

        // A proxy of the environment is for the network, and a redirect could take the token elsewhere.
        _client = new HttpClient(new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false, UseCookies = false })
        {
            BaseAddress = target.Address,
            Timeout = _patience,
            MaxResponseContentBufferSize = LongestAnswer,
        };
        if (target.Token is { } token)
        {
            _client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
        }
    }

    /// <summary>Calls.</summary>
    /// <param name="method">The method.</param>
    /// <param name="path">The path below the API's root, escaped.</param>
    /// <param name="body">The body in JSON, or null.</param>
    /// <param name="stop">Gives up.</param>
    /// <exception cref="OperationCanceledException"><paramref name="stop"/>.</exception>
    public async Task<AdminAnswer> SendAsync(HttpMethod method, string path, ReadOnlyMemory<byte>? body, CancellationToken stop)
    {
        using var request = new HttpRequestMessage(method, new Uri(Root + path, UriKind.Relative));
        if (body is { } json)
        {
            request.Content = new ReadOnlyMemoryContent(json)
            {
                Headers = { ContentType = new MediaTypeHeaderValue("application/json") },
            };
        }

        try
        {
            using HttpResponseMessage response = await _client.SendAsync(request, stop);
            byte[] text = await response.Content.ReadAsByteArrayAsync(stop);
            return Read(response, text);
        }
        catch (Exception exception) when (exception is HttpRequestException or OperationCanceledException)
        {
            stop.ThrowIfCancellationRequested();
            string reason = exception is HttpRequestException failure
                ? HttpFailure.Reason(failure) : $"no answer within {_patience.TotalSeconds:0} s";
            return new AdminAnswer(
                default,
                $"no admin listener of a server answers at {_target}: {reason}; {AdminTarget.AddressFlag} URL or "
                    + $"{AdminTarget.AddressVariable} names another one, and is the server running?",
                AgentExitCode.ServerUnreachable);
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _client.Dispose();

    private AdminAnswer Read(HttpResponseMessage response, byte[] text)
    {
        JsonElement json;
        try
        {
            using JsonDocument document = JsonDocument.Parse(text, new JsonDocumentOptions { MaxDepth = Deepest });
            json = document.RootElement.Clone();
        }
        catch (JsonException)
        {
            json = default;
        }

        if (response.IsSuccessStatusCode)
        {
            return json.ValueKind == JsonValueKind.Object
                ? new AdminAnswer(json, null, AgentExitCode.Stopped)
                : new AdminAnswer(default, $"what answers at {_target} is no Tunnel2 server", AgentExitCode.ServerUnreachable);
        }

        if (Text(json, "code") is not { } code || Text(json, "detail") is not { } detail)
        {
            return new AdminAnswer(
                default,
                $"what answers at {_target} is no admin listener of a Tunnel2 server: it answered {(int)response.StatusCode}",
                AgentExitCode.ServerUnreachable);
        }

        string hint = response.StatusCode != HttpStatusCode.Unauthorized ? ""
            : _target.Token is null
                ? $"; its admin token belongs in {AdminTarget.TokenVariable}, or in a file: {AdminTarget.TokenFileFlag} FILE"
            : $"; the token of {AdminTarget.TokenVariable} or {AdminTarget.TokenFileFlag} is not that of Admin:Token";
        return new AdminAnswer(
            default, $"{_target} refused: {PlainText.Clean(detail)} [{PlainText.Clean(code, 100)}]{hint}", AgentExitCode.Rejected);
    }

    /// <summary>A member that is a text; null where it is missing, something else, or no Unicode.</summary>
    public static string? Text(JsonElement json, string member)
    {
        try
        {
            return json.ValueKind == JsonValueKind.Object && json.TryGetProperty(member, out JsonElement value)
                && value.ValueKind == JsonValueKind.String
                    ? value.GetString()
                    : null;
        }
        catch (InvalidOperationException)
        {
            // Escapes of JSON can be half a character.
            return null;
        }
    }
}
