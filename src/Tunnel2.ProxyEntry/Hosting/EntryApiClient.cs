using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Asks a running server by its API, for the commands of <c>tunnel2-entry</c>. Used by one command.</summary>
internal sealed class EntryApiClient : IDisposable
{
    /// <summary>The environment variable with the token of the server's administration.</summary>
    public const string TokenVariable = "TUNNEL2_ADMIN_TOKEN";

    /// <summary>The environment variable that lets the token cross a network unencrypted, with 1.</summary>
    public const string PlaintextVariable = "TUNNEL2_ALLOW_PLAINTEXT";

    private const int LongestAnswer = 16 * 1024 * 1024;
    private const int MostMistakes = 100;
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly HttpClient _client;

    private EntryApiClient(Uri address, string? token, HttpMessageHandler handler)
    {
        _client = new HttpClient(handler) { BaseAddress = address, Timeout = _limit, MaxResponseContentBufferSize = LongestAnswer };
        if (token is not null)
        {
            _client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
        }
    }

    /// <summary>
    /// Makes a client for the server that <c>--admin</c> names, or that the settings describe. The token of the settings goes to the
    /// server of the settings only.
    /// </summary>
    /// <param name="line">The words of the command.</param>
    /// <param name="environment">Finds a variable of the environment.</param>
    /// <exception cref="ApiCommandException">The address or the settings are wrong.</exception>
    public static EntryApiClient Create(ApiCommandLine line, Func<string, string?> environment)
    {
        var token = environment(TokenVariable) is { Length: > 0 } given ? given : null;
        Uri? address;
        if (line[ApiCommandLine.AdminOption] is { } text)
        {
            if (!Uri.TryCreate(text, UriKind.Absolute, out address) || address.Scheme is not ("http" or "https")
                || address.UserInfo.Length > 0)
            {
                throw new ApiCommandException(
                    $"{ApiCommandLine.AdminOption} is a URL such as http://127.0.0.1:12002", SettingsErrorFormatter.ExitCode);
            }

            if (token is not null && address.Scheme == "http" && !address.IsLoopback
                && environment(PlaintextVariable) is not ("1" or "true"))
            {
                throw new ApiCommandException(
                    $"the token of {TokenVariable} would cross the network unencrypted: use https:// and a proxy with TLS, or SSH, or set "
                    + $"{PlaintextVariable}=1",
                    SettingsErrorFormatter.ExitCode);
            }
        }
        else
        {
            (address, token) = OfSettings(line.Settings, token);
        }

        // A proxy of the environment is for the network.
        return new EntryApiClient(
            address, IsSendable(token), new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false, UseCookies = false });
    }

    /// <summary>Asks, and reads the answer.</summary>
    /// <exception cref="ApiCommandException">The server cannot be reached, or says no.</exception>
    public async Task<T> SendAsync<T>(HttpMethod method, string path, object? body = null) where T : class =>
        await SendAsync(method, path, typeof(T), body).ConfigureAwait(false) as T
            ?? throw new ApiCommandException("the answer is not that of a Tunnel2 server");

    /// <summary>The same where the answer has no body.</summary>
    /// <exception cref="ApiCommandException">The server cannot be reached, or says no.</exception>
    public Task SendAsync(HttpMethod method, string path) => SendAsync(method, path, null, null);

    /// <summary>Puts JSON that is written already, and reads the answer.</summary>
    /// <exception cref="ApiCommandException">The server cannot be reached, or says no.</exception>
    public async Task<T> PutAsync<T>(string path, byte[] json) where T : class =>
        await SendAsync(HttpMethod.Put, path, typeof(T), json).ConfigureAwait(false) as T
            ?? throw new ApiCommandException("the answer is not that of a Tunnel2 server");

    /// <inheritdoc/>
    public void Dispose() => _client.Dispose();

    private static (Uri Address, string? Token) OfSettings(string[] args, string? token)
    {
        try
        {
            var configuration = SettingsSource.OfProcess(args).Read();
            var loaded = SettingsLoader.Load(configuration);
            return loaded.IsValid
                ? (
                    new Uri(AdminAddress.UrlOf(loaded.Settings.AdminListen)),
                    token ?? configuration[$"{SettingKeys.Section}:{SettingKeys.AdminToken}"])
                : throw new ApiCommandException(
                    SettingsErrorFormatter.Format(loaded.Errors).TrimEnd(), SettingsErrorFormatter.ExitCode);
        }
        catch (Exception exception) when (exception is InvalidDataException or IOException or UnauthorizedAccessException)
        {
            throw new ApiCommandException(exception.Message, SettingsErrorFormatter.ExitCode);
        }
    }

    /// <summary>A header carries visible ASCII only; nothing of the token is shown where it does not.</summary>
    private static string? IsSendable(string? token) => token is null || token.All(static c => c is > ' ' and <= '~')
        ? token
        : throw new ApiCommandException(
            $"{TokenVariable} or Tunnel2:Admin:Token is not a token: it has other characters than visible ASCII",
            SettingsErrorFormatter.ExitCode);

    private async Task<object?> SendAsync(HttpMethod method, string path, Type? type, object? body)
    {
        using var request = new HttpRequestMessage(method, new Uri(ApiRoutes.Root + path, UriKind.Relative));
        if (body is not null)
        {
            request.Content = new ByteArrayContent(
                body as byte[] ?? JsonSerializer.SerializeToUtf8Bytes(body, ApiJson.Requests.GetTypeInfo(body.GetType())))
            {
                Headers = { ContentType = new MediaTypeHeaderValue("application/json") },
            };
        }

        try
        {
            using var response = await _client.SendAsync(request).ConfigureAwait(false);
            var text = await response.Content.ReadAsByteArrayAsync().ConfigureAwait(false);
            return !response.IsSuccessStatusCode ? throw Refused(response.StatusCode, text)
                : type is null ? null
                : JsonSerializer.Deserialize(text, ApiJson.Answers.GetTypeInfo(type));
        }
        catch (JsonException)
        {
            throw new ApiCommandException("the answer is not that of a Tunnel2 server");
        }
        catch (Exception exception) when (exception is HttpRequestException or TaskCanceledException)
        {
            throw new ApiCommandException(
                $"{_client.BaseAddress} does not answer: "
                + (exception is HttpRequestException failure ? HttpFailure.Reason(failure) : $"nothing within {_limit.TotalSeconds:0} s")
                + $"; is the server running? ({ApiCommandLine.AdminOption} names another one)");
        }
    }

    private static ApiCommandException Refused(HttpStatusCode status, byte[] text)
    {
        Problem? problem = null;
        try
        {
            problem = JsonSerializer.Deserialize(text, ApiJson.Answer<Problem>());
        }
        catch (JsonException)
        {
            // Another server, or a proxy before it, has answered.
        }

        var words = problem is null
            ? $"the server answered {(int)status}"
            : $"{PlainText.Clean(problem.Detail)} [{PlainText.Clean(problem.Code, 100)}]"
                + string.Concat((problem.Mistakes ?? []).Take(MostMistakes).Select(static one => $"\n  {PlainText.Clean(one)}"));
        return new ApiCommandException(status == HttpStatusCode.Unauthorized ? $"{words}; set {TokenVariable}" : words);
    }
}
