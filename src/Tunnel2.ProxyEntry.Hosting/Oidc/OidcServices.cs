using Microsoft.AspNetCore.Authentication.OpenIdConnect;
using Microsoft.AspNetCore.DataProtection;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.IdentityModel.Protocols.OpenIdConnect;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// The services of ASP.NET Core that sign-ins need. They have a container of their own, so that a server without gates has none of them.
/// </summary>
internal static class OidcServices
{
    /// <summary>The item of a context that has the <see cref="OidcTicket"/>.</summary>
    public const string TicketKey = "ticket";

    /// <summary>The item of a context that has the exception of a failure.</summary>
    public const string FailureKey = "failure";

    /// <summary>The item of a context, and of what a sign-in carries through the provider, that has the tunnel's name.</summary>
    public const string TunnelKey = "tunnel2.tunnel";

    /// <summary>How many bytes an answer of a provider may have.</summary>
    public const int MaxBody = 1024 * 1024;

    private const string NoScheme = "none";
    private const string Folder = "sign-in";

    /// <summary>How long a request for a gate's path may take.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(15);

    /// <summary>How long a visitor waits for it, also when it cannot be given up.</summary>
    public static readonly TimeSpan Patience = Limit + TimeSpan.FromSeconds(1);

    /// <summary>How often a provider's keys are fetched because a token names one that is not known.</summary>
    private static readonly TimeSpan _keysAgain = TimeSpan.FromSeconds(30);

    /// <summary>How long a sign-in at the provider may take.</summary>
    private static readonly TimeSpan _signIn = TimeSpan.FromMinutes(15);

    private static readonly TimeSpan _backchannel = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan _skew = TimeSpan.FromMinutes(1);

    /// <summary>How long a key seals new sessions; older keys still open theirs.</summary>
    private static readonly TimeSpan _keyLifetime = TimeSpan.FromDays(30);

    /// <summary>Makes the services.</summary>
    /// <exception cref="IOException">The keys cannot be kept.</exception>
    public static ServiceProvider Create(ProxyEntrySettings settings, IEnumerable<OidcGate> gates, TimeProvider time)
    {
        var services = new ServiceCollection();
        services.AddSingleton(time);

        // The handler logs what strangers send. What is worth a line is in SignInLog.
        services.AddSingleton<ILoggerFactory>(NullLoggerFactory.Instance);
        services.AddSingleton(typeof(ILogger<>), typeof(NullLogger<>));
        if (settings.Cluster.Secret is { } secret)
        {
            services.AddSingleton<IDataProtectionProvider>(new ClusterProtection(secret, _keyLifetime, time));
        }
        else
        {
            KeepKeys(services, settings.StateFolder);
        }

        services.AddSingleton<OidcSessions>();
        var authentication = services.AddAuthentication();
        foreach (var gate in gates)
        {
            authentication.AddOpenIdConnect(gate.Entry.Name, options => Configure(options, gate.Entry));
        }

        return services.BuildServiceProvider();
    }

    private static void KeepKeys(ServiceCollection services, string stateFolder)
    {
        var folder = Path.Combine(stateFolder, Folder);
        try
        {
            StateFolder.Create(stateFolder);
            StateFolder.Create(folder);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new IOException(
                $"The keys of sign-ins cannot be kept in {folder}: {exception.Message} Set Tunnel2:StateFolder to a folder that lasts.",
                exception);
        }

        services.AddDataProtection()
            .SetApplicationName("tunnel2-entry")
            .PersistKeysToFileSystem(new DirectoryInfo(folder))
            .SetDefaultKeyLifetime(_keyLifetime);
    }

    private static void Configure(OpenIdConnectOptions options, OidcEntry entry)
    {
        options.Authority = entry.Authority!.AbsoluteUri;
        options.RequireHttpsMetadata = entry.Authority.Scheme == Uri.UriSchemeHttps;
        options.ClientId = entry.ClientId;
        options.ClientSecret = entry.Secret;
        options.CallbackPath = SignInPaths.Callback;
        options.ResponseType = OpenIdConnectResponseType.Code;

        // The answer comes as a GET, which cookies of SameSite=Lax go with, and has no body.
        options.ResponseMode = OpenIdConnectResponseMode.Query;
        options.UsePkce = true;
        options.SaveTokens = false;
        options.MapInboundClaims = false;
        options.GetClaimsFromUserInfoEndpoint = false;
        options.DisableTelemetry = true;
        options.SignInScheme = NoScheme;
        options.RefreshInterval = _keysAgain;
        options.RemoteAuthenticationTimeout = _signIn;
        options.ProtocolValidator.NonceLifetime = _signIn;
        options.TokenValidationParameters.ClockSkew = _skew;
        options.TokenValidationParameters.ValidAlgorithms = OidcIdToken.Algorithms;
        options.TokenValidationParameters.IgnoreTrailingSlashWhenValidatingAudience = false;
        options.Scope.Clear();
        options.Scope.Add("openid");
        foreach (var scope in entry.Scopes.IsEmpty ? ["email"] : entry.Scopes)
        {
            options.Scope.Add(scope);
        }

        Protect(options.NonceCookie, SignInCookie.Name + "-nonce.");
        Protect(options.CorrelationCookie, SignInCookie.Name + "-state.");
        var connections = new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            UseCookies = false,
            ConnectTimeout = _backchannel,
            PooledConnectionIdleTimeout = TimeSpan.FromSeconds(30),
            MaxConnectionsPerServer = 8,
            MaxResponseHeadersLength = 32,
        };
        options.Backchannel = new HttpClient(new OidcBackchannel(entry.Authority, connections))
        {
            Timeout = _backchannel,
            MaxResponseContentBufferSize = MaxBody,
        };

        // The state that comes back is the server's own, for every tunnel. Without this a tunnel that can read what its
        // visitors' provider sends could use it at another tunnel of the same gate.
        options.Events.OnMessageReceived = context =>
        {
            if (context.Properties?.Items.TryGetValue(TunnelKey, out var tunnel) != true
                || !string.Equals(tunnel, context.HttpContext.Items[TunnelKey] as string, StringComparison.Ordinal))
            {
                context.Fail("The sign-in was begun at another tunnel.");
            }

            return Task.CompletedTask;
        };
        options.Events.OnTokenResponseReceived = static context =>
        {
            if (!OidcIdToken.IsSigned(context.TokenEndpointResponse.IdToken))
            {
                context.Fail("The ID token is not signed.");
            }

            return Task.CompletedTask;
        };
        options.Events.OnTicketReceived = context =>
        {
            var user = context.Principal!;
            var isVerified = entry.TrustsEmails
                || string.Equals(user.FindFirst("email_verified")?.Value, "true", StringComparison.OrdinalIgnoreCase);
            context.HttpContext.Items[TicketKey] = new OidcTicket(
                isVerified ? user.FindFirst("email")?.Value : null,
                [.. user.FindAll("groups").Select(static claim => claim.Value)],
                context.ReturnUri);
            context.HandleResponse();
            return Task.CompletedTask;
        };
        options.Events.OnRemoteFailure = context =>
        {
            context.HttpContext.Items[FailureKey] = context.Failure;
            context.HandleResponse();
            return Task.CompletedTask;
        };
        options.Events.OnAccessDenied = context =>
        {
            context.HandleResponse();
            return Task.CompletedTask;
        };
    }

    private static void Protect(CookieBuilder cookie, string name)
    {
        cookie.Name = name;

        // With the prefix __Host- it belongs to one host: no other tunnel of the domain can set it.
        cookie.Path = "/";
        cookie.SameSite = SameSiteMode.Lax;
        cookie.SecurePolicy = CookieSecurePolicy.Always;
        cookie.HttpOnly = true;
        cookie.IsEssential = true;
    }
}
